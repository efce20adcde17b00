import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import { processTag } from "../../src/sandboxes/local/process/process-tag.ts";
import type { SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { leftoversOf, noLeftovers } from "./leftovers.ts";
import { inMs, makeRoot, processesWith, run, silent, until } from "./sandbox-support.ts";

const { root, remove } = makeRoot();
const providerRoot = join(root, "provided");
let provider: SandboxProvider;
let killedWorker: ChildProcess | undefined;

beforeAll(async () => {
  provider = await openLocalProvider({ root: providerRoot, log: silent });
  const origin = await provider.open({ id: "origin", deadline: inMs(60_000), label: {} });
  await run(origin, "echo base > file");
  await provider.saveBase(origin, "base");
});

afterAll(async () => {
  killedWorker?.kill("SIGKILL");
  await provider?.stop();
  await remove();
});

const open = (id: string) =>
  provider.open({ id, deadline: inMs(120_000), label: {}, base: "base", network: () => {} });

/** Excludes the watchdog, which has the tag for as long as the provider runs. Pooled root file systems have it while they are created. */
const commands = () =>
  processesWith(processTag).filter((pid) => !processesWith("watchdog-process.ts").includes(pid));

describe("a closed sandbox", () => {
  test("leaves no process, mount, loop device, control group, folder or open file", async () => {
    // The first sandbox also creates resources that stay: a pooled root file system.
    await (await open("first")).close();
    await until(() => commands().length === 0);
    const before = readdirSync("/proc/self/fd").length;
    for (let n = 0; n < 15; n++) {
      const sandbox = await open(`row-${n}`);
      await run(sandbox, "echo more >> file; sleep 1000 & true");
      await sandbox.close();
    }
    await until(() => commands().length === 0);
    // Allows for a new pooled root file system. One leaked file per sandbox would be fifteen.
    await until(() => readdirSync("/proc/self/fd").length <= before + 5);
    await until(() => JSON.stringify(leftoversOf(providerRoot)) === JSON.stringify(noLeftovers));
  });

  test("can be one of fifty concurrent sandboxes, each with its own files and network", async () => {
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    const sandboxes = await Promise.all(numbers.map((n) => open(`at-once-${n}`)));
    const results = await Promise.all(
      sandboxes.map((sandbox, n) => run(sandbox, `echo ${n} >> file; cat file`, { timeoutMs: 60_000 })),
    );
    expect(results.map(({ stdout }) => stdout)).toEqual(numbers.map((n) => `base\n${n}\n`));
    const { mounts, loops, groups } = leftoversOf(providerRoot);
    expect(mounts).toEqual([]);
    const { disk, pids } = provider.capabilities();
    expect(loops).toHaveLength(disk.enforced ? 50 : 0);
    expect(groups.length).toBeGreaterThanOrEqual(pids.enforced ? 50 : 0);
    await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
    await until(() => JSON.stringify(leftoversOf(providerRoot)) === JSON.stringify(noLeftovers));
  });

  test("did not pass commands an open file that leads outside", async () => {
    const sandbox = await open("files");
    const { stdout, stderr } = await run(sandbox, "ls -l /proc/[0-9]*/fd");
    // The files of init and of the command's supervisor cannot be read.
    expect(stderr).toMatch(/^(ls: cannot .*'\/proc\/[12]\/fd.*': Permission denied\n)+$/);
    const openFiles = stdout.split("\n").filter((line) => line.includes("->"));
    expect(openFiles.join("\n")).not.toMatch(/(net|mnt|user):\[|seccomp|outrider/);
    await sandbox.close();
  });
});

test("a killed worker leaves no process, and the next worker removes the rest", async () => {
  const left = join(root, "left");
  killedWorker = spawn(process.execPath, [join(import.meta.dirname, "abandon-sandbox.ts"), left], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [tag] = await once(createInterface({ input: killedWorker.stdout as NodeJS.ReadableStream }), "line");
  expect(processesWith(tag).length).toBeGreaterThan(1);
  killedWorker.kill("SIGKILL");
  await until(() => processesWith(tag).length === 0);
  await until(() => leftoversOf(left).loops.length === 0);
  expect(leftoversOf(left)).toMatchObject({ folders: ["left"], mounts: [] });
  const next = await openLocalProvider({ root: left, log: silent });
  expect(await next.reap(() => false)).toEqual(["left"]);
  expect(leftoversOf(left)).toEqual(noLeftovers);
  // The base is still complete.
  const sandbox = await next.open({ id: "again", deadline: inMs(60_000), label: {}, base: "base" });
  expect((await run(sandbox, "cat file")).stdout).toBe("kept\n");
  await sandbox.close();
  await next.stop();
});
