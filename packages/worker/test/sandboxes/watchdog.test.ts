import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openCgroups } from "../../src/sandboxes/local/cgroups/cgroups.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import { processTag } from "../../src/sandboxes/local/process/process-tag.ts";
import { DeadlinePassedError, type SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import {
  initsOf,
  inMs,
  makeRoot,
  processesWith,
  run,
  silent,
  sleepersOf,
  until,
  watchdogsOf,
} from "./sandbox-support.ts";

const { root, remove } = makeRoot();
const workers: TestWorker[] = [];

afterAll(async () => {
  for (const { process, root } of workers) {
    if (process.exitCode === null && process.signalCode === null) {
      process.kill("SIGKILL");
      await once(process, "exit");
    }
    await (await openCgroups({ name: realpathSync(root) })).reap([]);
  }
  await remove();
});

interface TestWorker {
  process: ChildProcess;
  root: string;
  marker: string;
  /** The last reported values. */
  deadline: bigint;
  watchdog: number;
  tag: string;
  output?: string;
}

/** Starts a worker in a separate process. Its command has not started yet. */
async function startTestWorker(options: {
  deadlineMs: number;
  extensionMs?: number;
  command?: string;
}): Promise<TestWorker> {
  const marker = randomUUID();
  const tick = `while :; do echo >> /shown/ticks; sleep 0.05; done # ${marker}`;
  const own = join(root, marker);
  const program = join(import.meta.dirname, "sandbox-worker.ts");
  const args = [program, own, options.deadlineMs, options.extensionMs ?? 0, options.command ?? tick].map(
    String,
  );
  // Started by a shell that leaks an open file, as careless service managers do.
  const shell = ["-c", 'exec 77</etc/passwd; exec "$@"', "bash", process.execPath, ...args];
  const child = spawn("bash", shell, { stdio: ["pipe", "pipe", "inherit"] });
  const worker: TestWorker = { process: child, root: own, marker, deadline: 0n, watchdog: 0, tag: "" };
  workers.push(worker);
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { deadline, ...fact } = JSON.parse(line);
    Object.assign(worker, fact, deadline && { deadline: BigInt(deadline) });
  });
  await until(() => worker.deadline > 0n);
  return worker;
}

const startCommand = ({ process }: TestWorker) => process.stdin?.write("go\n");
const ticks = ({ root }: TestWorker) => {
  try {
    return readFileSync(join(root, ".shown", "ticks")).length;
  } catch {
    return 0;
  }
};
const isGone = ({ marker }: TestWorker) =>
  // The worker itself has the command in its arguments.
  processesWith(marker).every((pid) => workers.some(({ process }) => process.pid === pid));
const isAlive = (pid: number) => processesWith("watchdog-process.ts").includes(pid);

describe("when the worker", () => {
  test("is stopped, its command runs until the deadline and is killed then", async () => {
    const worker = await startTestWorker({ deadlineMs: 8_000 });
    startCommand(worker);
    await until(() => ticks(worker) > 2);
    worker.process.kill("SIGSTOP");
    const atStop = ticks(worker);
    await until(() => ticks(worker) > atStop + 2);
    await until(() => isGone(worker));
    const lateMs = Number(process.hrtime.bigint() - worker.deadline) / 1e6;
    expect(lateMs).toBeGreaterThan(0);
    expect(ticks(worker)).toBeGreaterThan(atStop + 2);
  });

  test("extends the deadline and is then stopped, its command is killed at the last deadline", async () => {
    const worker = await startTestWorker({ deadlineMs: 8_000, extensionMs: 8_000 });
    const first = worker.deadline;
    startCommand(worker);
    await until(() => process.hrtime.bigint() > first + 500_000_000n);
    const past = ticks(worker);
    await until(() => ticks(worker) > past + 3);
    worker.process.kill("SIGSTOP");
    await until(() => isGone(worker));
    const lateMs = Number(process.hrtime.bigint() - worker.deadline) / 1e6;
    // It may have extended the deadline once more without reporting it.
    expect(lateMs).toBeGreaterThan(-200);
  });

  test("dies, its command and its watchdog end at once", async () => {
    const worker = await startTestWorker({ deadlineMs: 600_000 });
    startCommand(worker);
    await until(() => ticks(worker) > 2);
    worker.process.kill("SIGKILL");
    await until(() => isGone(worker) && !isAlive(worker.watchdog));
  });

  test("dies before the command is registered, the command never starts", async () => {
    const worker = await startTestWorker({ deadlineMs: 600_000 });
    process.kill(worker.watchdog, "SIGSTOP");
    try {
      startCommand(worker);
      await until(() => initsOf(worker.tag).length > 0);
      worker.process.kill("SIGKILL");
      await until(() => isGone(worker) && initsOf(worker.tag).length === 0);
      expect(ticks(worker)).toBe(0);
    } finally {
      process.kill(worker.watchdog, "SIGCONT");
    }
    await until(() => !isAlive(worker.watchdog));
  });

  test("has inherited an open file, its commands do not inherit it", async () => {
    const worker = await startTestWorker({
      deadlineMs: 600_000,
      command: "cat <&77; cat /proc/[0-9]*/fd/77; echo end",
    });
    expect(readFileSync(`/proc/${worker.process.pid}/fd/77`, "utf8")).toContain("root:");
    startCommand(worker);
    await until(() => worker.output !== undefined);
    expect(worker.output).not.toContain("root:");
    expect(worker.output).toContain("end\n");
  });
});

describe("when the watchdog", () => {
  let provider: SandboxProvider;
  let pid: number;

  beforeAll(async () => {
    provider = await openLocalProvider({ root: join(root, "own"), log: silent });
    pid = watchdogsOf(process.pid)[0] ?? 0;
  });
  afterAll(() => provider.stop());

  const open = (deadline: bigint) => provider.open({ id: randomUUID(), deadline, label: {} });

  test("dies, all commands are killed and the next one runs under a new watchdog", async () => {
    const sandboxes = [await open(inMs(60_000)), await open(inMs(60_000))];
    const marker = `7000.${Date.now()}`;
    const running = sandboxes.map((sandbox) => run(sandbox, `sleep ${marker}`));
    await until(() => sleepersOf(marker).length === 2);
    process.kill(pid, "SIGKILL");
    const results = await Promise.all(running);
    const killed = { exitCode: null, signal: "SIGKILL", timedOut: false };
    expect(results).toMatchObject([killed, killed]);
    expect(processesWith(marker)).toEqual([]);
    for (const sandbox of sandboxes) {
      expect((await run(sandbox, "echo on")).stdout).toBe("on\n");
      await sandbox.close();
    }
    expect(watchdogsOf(process.pid)).toHaveLength(1);
    expect(watchdogsOf(process.pid)).not.toContain(pid);
    pid = watchdogsOf(process.pid)[0] ?? 0;
  });

  test("dies repeatedly while commands start, every command settles and later ones run", async () => {
    const sandbox = await open(inMs(60_000));
    let done = false;
    const attempts = Promise.allSettled(
      Array.from({ length: 20 }, async (_, n) => await run(sandbox, `echo ${n}; sleep 0.3`)),
    ).finally(() => {
      done = true;
    });
    let killed = 0;
    while (!done) {
      await until(() => done || watchdogsOf(process.pid).some((each) => each !== pid || killed === 0));
      const current = watchdogsOf(process.pid)[0];
      if (done || current === undefined) continue;
      pid = current;
      if (++killed > 3) break;
      process.kill(pid, "SIGKILL");
    }
    for (const result of await attempts) {
      if (result.status === "rejected") expect(result.reason.message).toMatch(/watchdog/);
      else expect([0, null]).toContain(result.value.exitCode);
    }
    // The last one may have been killed while it was starting.
    await until(async () => (await run(sandbox, "echo on").catch(() => undefined))?.stdout === "on\n");
    pid = watchdogsOf(process.pid)[0] ?? 0;
    await sandbox.close();
  });

  test("hangs, no command starts and an abort still works", async () => {
    const sandbox = await open(inMs(60_000));
    process.kill(pid, "SIGSTOP");
    const controller = new AbortController();
    const marker = `8000.${Date.now()}`;
    try {
      const running = run(sandbox, `touch ran; sleep ${marker}`, { signal: controller.signal });
      await until(() => initsOf(processTag).length > 0);
      controller.abort();
      expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL" });
      expect(processesWith(marker)).toEqual([]);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    expect((await run(sandbox, "ls ran")).exitCode).not.toBe(0);
    await sandbox.close();
  });

  test("has a deadline in the past, commands are rejected until it is extended", async () => {
    const past = await open(inMs(-1));
    await expect(run(past, "true")).rejects.toThrow(DeadlinePassedError);
    await expect(past.read("x", 1)).rejects.toThrow(DeadlinePassedError);
    past.extendDeadline(inMs(60_000));
    expect((await run(past, "echo on")).stdout).toBe("on\n");
    await past.close();
  });

  test("reaches a deadline, it kills only the commands of that sandbox", async () => {
    const short = await open(inMs(1000));
    const long = await open(inMs(60_000));
    long.extendDeadline(inMs(500)); // earlier: ignored
    const running = run(long, "until [ -e go ]; do sleep 0.02; done; echo on");
    expect(await run(short, "sleep 30")).toMatchObject({
      exitCode: null,
      signal: "SIGKILL",
      timedOut: false,
    });
    await expect(run(short, "true")).rejects.toThrow(DeadlinePassedError);
    await long.write("go", Buffer.from(""));
    expect((await running).stdout).toBe("on\n");
    await short.close();
    await long.close();
  });
});
