import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestInstallation, type TestInstallation } from "../../packages/worker/test/installation.ts";
import { type Running, root, watch } from "../process.ts";

let installation: TestInstallation;
let home: string;
beforeAll(async () => {
  installation = await startTestInstallation();
  await installation.worker();
  home = mkdtempSync(join(tmpdir(), "outrider-quickstart-"));
  mkdirSync(join(home, "bin"));
  symlinkSync(join(root, "bin/outrider"), join(home, "bin/outrider"));
  mkdirSync(join(home, ".outrider"));
  writeFileSync(join(home, ".outrider/key"), installation.key);
});
afterAll(async () => {
  await installation?.stop();
  rmSync(home, { recursive: true, force: true });
});

const page = readFileSync(join(root, "docs/cli.md"), "utf8");
const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block as string);

test("all commands in docs/cli.md work", async () => {
  expect(blocks.length).toBeGreaterThan(8);
  // Run the commands as a user would, against the server of this test.
  const script = ["set -euo pipefail", ...blocks].join("\n");
  const environment = {
    ...{ PATH: `${join(home, "bin")}:${process.env.PATH}`, HOME: home },
    OUTRIDER_BASE_URL: `${installation.origin}/api/v1`,
  };
  const child = spawn("bash", ["-xc", script], {
    cwd: home,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const running: Running = watch(child, "docs/cli.md");
  const { code } = await running.ended;
  expect(`${code}\n${running.stderr()}`).toMatch(/^0\n/);
  expect(running.stdout()).toContain("That is where I live.");
  expect(running.stdout()).toContain("attachments/notes.txt");
  expect(running.stdout()).toContain("+hello");
  expect(running.stdout()).toContain("there is one");
  expect(running.stdout()).not.toContain("a value that stays inside");
  expect(JSON.parse(readFileSync(join(home, "runs.json"), "utf8")).runs.length).toBeGreaterThan(4);
  expect(readFileSync(join(home, "ci.key"), "utf8")).toMatch(/^orp_\w+\n$/);
});

test("docs/cli-reference.md is up to date", () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/cli-reference.ts"), "--check"]);
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: "" });
});
