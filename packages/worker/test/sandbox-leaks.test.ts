import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openLocalProvider } from "../src/sandboxes/local.ts";
import { mark } from "../src/sandboxes/mark.ts";
import type { SandboxProvider } from "../src/sandboxes/sandbox.ts";
import { leftoversOf, nothing } from "./sandbox-leftovers.ts";
import { inMs, makeRoot, processesWith, run, silent, until } from "./sandbox-support.ts";

const { root, remove } = makeRoot();
const provided = join(root, "provided");
let provider: SandboxProvider;
let leaver: ChildProcess | undefined;

beforeAll(async () => {
  provider = await openLocalProvider({ root: provided, log: silent });
  const origin = await provider.open({ id: "origin", deadline: inMs(60_000), label: {} });
  await run(origin, "echo base > file");
  await provider.keepBase(origin, "base");
});

afterAll(async () => {
  leaver?.kill("SIGKILL");
  await provider?.stop();
  await remove();
});

const open = (id: string) =>
  provider.open({ id, deadline: inMs(120_000), label: {}, base: "base", network: () => {} });

/** The switch has the mark for as long as the provider runs; so has a spare network while it is being made. */
const commands = () => processesWith(mark).filter((pid) => !processesWith("switch-process.ts").includes(pid));

describe("a closed sandbox", () => {
  test("leaves nothing: no process, mount, loop device, control group, folder or open file", async () => {
    // The first one also makes what stays: a spare network, pipes.
    await (await open("first")).close();
    await until(() => commands().length === 0);
    const before = readdirSync("/proc/self/fd").length;
    for (let n = 0; n < 15; n++) {
      const sandbox = await open(`row-${n}`);
      await run(sandbox, "echo more >> file; sleep 1000 & true");
      await sandbox.close();
    }
    await until(() => commands().length === 0);
    // A few for a spare network that was not there before; one forgotten file each would be fifteen.
    await until(() => readdirSync("/proc/self/fd").length <= before + 5);
    await until(() => JSON.stringify(leftoversOf(provided)) === JSON.stringify(nothing));
  });

  test("was one of fifty that were open at once, each with files and network of its own", async () => {
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    const sandboxes = await Promise.all(numbers.map((n) => open(`at-once-${n}`)));
    const results = await Promise.all(
      sandboxes.map((sandbox, n) => run(sandbox, `echo ${n} >> file; cat file`, { timeoutMs: 60_000 })),
    );
    expect(results.map(({ stdout }) => stdout)).toEqual(numbers.map((n) => `base\n${n}\n`));
    const { mounts, loops, groups } = leftoversOf(provided);
    expect(mounts).toEqual([]);
    const { disk, pids } = provider.capabilities();
    expect(loops).toHaveLength(disk.enforced ? 50 : 0);
    expect(groups.length).toBeGreaterThanOrEqual(pids.enforced ? 50 : 0);
    await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
    await until(() => JSON.stringify(leftoversOf(provided)) === JSON.stringify(nothing));
  }, 120_000);

  test("gave its commands no file that leads out of it", async () => {
    const sandbox = await open("files");
    const { stdout } = await run(sandbox, "ls -l /proc/[0-9]*/fd");
    expect(stdout).toContain("/proc/1/fd");
    const ways = stdout.split("\n").filter((line) => line.includes("->") && !line.includes(".pipes-"));
    expect(ways.join("\n")).not.toMatch(/(net|mnt|user):\[|seccomp|outrider/);
    await sandbox.close();
  });
});

test("a worker that is killed leaves no process, and the next one removes the rest", async () => {
  const left = join(root, "left");
  leaver = spawn(process.execPath, [join(import.meta.dirname, "sandbox-leaver.ts"), left], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [itsMark] = await once(createInterface({ input: leaver.stdout as NodeJS.ReadableStream }), "line");
  expect(processesWith(itsMark).length).toBeGreaterThan(1);
  leaver.kill("SIGKILL");
  await until(() => processesWith(itsMark).length === 0);
  await until(() => leftoversOf(left).loops.length === 0);
  expect(leftoversOf(left)).toMatchObject({ folders: ["left"], mounts: [] });
  const next = await openLocalProvider({ root: left, log: silent });
  expect(await next.reap(() => false)).toEqual(["left"]);
  expect(leftoversOf(left)).toEqual(nothing);
  // What was kept is still whole.
  const sandbox = await next.open({ id: "again", deadline: inMs(60_000), label: {}, base: "base" });
  expect((await run(sandbox, "cat file")).stdout).toBe("kept\n");
  await sandbox.close();
  await next.stop();
});
