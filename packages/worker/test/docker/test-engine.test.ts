import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { canRunEngines } from "./test-engine.ts";

/** Lists the processes whose command line or mounts contain the text. */
function processesWith(text: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) =>
      ["cmdline", "mountinfo"].some((file) => readIfRunning(`/proc/${pid}/${file}`).includes(text)),
    );
}

function readIfRunning(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

const findGroups = (name: string) =>
  readdirSync("/sys/fs/cgroup").filter((hierarchy) => existsSync(`/sys/fs/cgroup/${hierarchy}/${name}`));

describe.skipIf(!canRunEngines)("an engine for tests", () => {
  it("leaves nothing behind when the test process is killed", async () => {
    const script = `
      const { startDocker } = await import(${JSON.stringify(`${import.meta.dirname}/test-engine.ts`)});
      console.log((await startDocker()).folder);
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [folder] = await once(createInterface({ input: child.stdout }), "line");
    expect(existsSync(`${folder}/engine.sock`)).toBe(true);
    child.kill("SIGKILL");
    await vi.waitFor(() => expect(existsSync(folder)).toBe(false), waitOptions);
    await vi.waitFor(() => expect(processesWith(folder)).toEqual([]), waitOptions);
    expect(findGroups(basename(folder))).toEqual([]);
  });
});
