import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openCgroups } from "../src/sandboxes/cgroups/cgroups.ts";
import { openLocalProvider } from "../src/sandboxes/local.ts";
import { DeadlinePassedError, type SandboxProvider } from "../src/sandboxes/sandbox.ts";
import {
  inMs,
  makeRoot,
  processesWith,
  run,
  silent,
  sleepersOf,
  switchesOf,
  until,
  waitersOf,
} from "./sandbox-support.ts";

const { root, remove } = makeRoot();
const workers: Played[] = [];

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

interface Played {
  process: ChildProcess;
  root: string;
  marker: string;
  /** The last it told of each. */
  deadline: bigint;
  switch: number;
  output?: string;
}

/** A worker in a process of its own, with a command that has not begun yet. */
async function playWorker(options: {
  deadlineMs: number;
  extensionMs?: number;
  command?: string;
}): Promise<Played> {
  const marker = randomUUID();
  const tick = `while :; do echo >> /shown/ticks; sleep 0.05; done # ${marker}`;
  const own = join(root, marker);
  const program = join(import.meta.dirname, "sandbox-worker.ts");
  const args = [program, own, options.deadlineMs, options.extensionMs ?? 0, options.command ?? tick].map(
    String,
  );
  // Through a shell that leaves it an open file, as careless service managers do.
  const shell = ["-c", 'exec 77</etc/passwd; exec "$@"', "bash", process.execPath, ...args];
  const child = spawn("bash", shell, { stdio: ["pipe", "pipe", "inherit"] });
  const played: Played = { process: child, root: own, marker, deadline: 0n, switch: 0 };
  workers.push(played);
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { deadline, ...fact } = JSON.parse(line);
    Object.assign(played, fact, deadline && { deadline: BigInt(deadline) });
  });
  await until(() => played.deadline > 0n);
  return played;
}

const begin = ({ process }: Played) => process.stdin?.write("go\n");
const ticks = ({ root }: Played) => {
  try {
    return readFileSync(join(root, ".shown", "ticks")).length;
  } catch {
    return 0;
  }
};
const isGone = ({ marker }: Played) =>
  // The worker itself has the command among its arguments.
  processesWith(marker).every((pid) => workers.some(({ process }) => process.pid === pid));
const isAlive = (pid: number) => processesWith("switch-process.ts").includes(pid);

describe("when the worker", () => {
  test("is stopped, its command goes on until the deadline and ends there", async () => {
    const worker = await playWorker({ deadlineMs: 3000 });
    begin(worker);
    await until(() => ticks(worker) > 2);
    worker.process.kill("SIGSTOP");
    const atStop = ticks(worker);
    await until(() => ticks(worker) > atStop + 2);
    await until(() => isGone(worker));
    const lateMs = Number(process.hrtime.bigint() - worker.deadline) / 1e6;
    expect(lateMs).toBeGreaterThan(0);
    expect(lateMs).toBeLessThan(2000);
    expect(ticks(worker)).toBeGreaterThan(atStop + 2);
  });

  test("extends the deadline, its command goes on, and ends at the last deadline once the worker is stopped", async () => {
    const worker = await playWorker({ deadlineMs: 1500, extensionMs: 1500 });
    const first = worker.deadline;
    begin(worker);
    await until(() => process.hrtime.bigint() > first + 500_000_000n);
    const past = ticks(worker);
    await until(() => ticks(worker) > past + 3);
    worker.process.kill("SIGSTOP");
    await until(() => isGone(worker));
    const lateMs = Number(process.hrtime.bigint() - worker.deadline) / 1e6;
    // It may have extended once more than it could tell.
    expect(lateMs).toBeGreaterThan(-200);
    expect(lateMs).toBeLessThan(2000);
  });

  test("dies, its command and its switch are gone long before the deadline", async () => {
    const worker = await playWorker({ deadlineMs: 600_000 });
    begin(worker);
    await until(() => ticks(worker) > 2);
    worker.process.kill("SIGKILL");
    await until(() => isGone(worker) && !isAlive(worker.switch));
  });

  test("dies before the switch has heard of the command, the command never begins", async () => {
    const worker = await playWorker({ deadlineMs: 600_000 });
    process.kill(worker.switch, "SIGSTOP");
    try {
      begin(worker);
      await until(() => waitersOf(worker.marker).length > 0);
      worker.process.kill("SIGKILL");
      await until(() => isGone(worker));
      expect(ticks(worker)).toBe(0);
    } finally {
      process.kill(worker.switch, "SIGCONT");
    }
    await until(() => !isAlive(worker.switch));
  });

  test("inherited an open file, its commands have not", async () => {
    const worker = await playWorker({
      deadlineMs: 600_000,
      command: "cat <&77; cat /proc/[0-9]*/fd/77; echo end",
    });
    expect(readFileSync(`/proc/${worker.process.pid}/fd/77`, "utf8")).toContain("root:");
    begin(worker);
    await until(() => worker.output !== undefined);
    expect(worker.output).not.toContain("root:");
    expect(worker.output).toContain("end\n");
  });
});

describe("when the switch", () => {
  let provider: SandboxProvider;
  let pid: number;

  beforeAll(async () => {
    provider = await openLocalProvider({ root: join(root, "own"), log: silent });
    pid = switchesOf(process.pid)[0] ?? 0;
  });
  afterAll(() => provider.stop());

  const open = (deadline: bigint) => provider.open({ id: randomUUID(), deadline, label: {} });

  test("dies, all commands are killed, and the next one runs under a new switch", async () => {
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
    expect(switchesOf(process.pid)).toHaveLength(1);
    expect(switchesOf(process.pid)).not.toContain(pid);
    pid = switchesOf(process.pid)[0] ?? 0;
  });

  test("dies again and again while commands start, none runs unwatched and none is forgotten", async () => {
    const sandbox = await open(inMs(60_000));
    let done = false;
    const attempts = Promise.allSettled(
      Array.from({ length: 20 }, async (_, n) => await run(sandbox, `echo ${n}; sleep 0.3`)),
    ).finally(() => {
      done = true;
    });
    let killed = 0;
    while (!done) {
      await until(() => done || switchesOf(process.pid).some((each) => each !== pid || killed === 0));
      const current = switchesOf(process.pid)[0];
      if (done || current === undefined) continue;
      pid = current;
      if (++killed > 3) break;
      process.kill(pid, "SIGKILL");
    }
    for (const result of await attempts) {
      if (result.status === "rejected") expect(result.reason.message).toMatch(/switch/);
      else expect([0, null]).toContain(result.value.exitCode);
    }
    expect((await run(sandbox, "echo on")).stdout).toBe("on\n");
    pid = switchesOf(process.pid)[0] ?? 0;
    await sandbox.close();
  });

  test("hangs, no command begins, and an abort or kill still works", async () => {
    const sandbox = await open(inMs(60_000));
    process.kill(pid, "SIGSTOP");
    const controller = new AbortController();
    const marker = `8000.${Date.now()}`;
    try {
      const running = run(sandbox, `touch ran; sleep ${marker}`, { signal: controller.signal });
      await until(() => waitersOf(marker).length > 0);
      controller.abort();
      expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL" });
      expect(processesWith(marker)).toEqual([]);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    expect((await run(sandbox, "ls ran")).exitCode).not.toBe(0);
    await sandbox.close();
  });

  test("hears no more of a sandbox, commands are refused until the deadline is extended", async () => {
    const past = await open(inMs(-1));
    await expect(run(past, "true")).rejects.toThrow(DeadlinePassedError);
    await expect(past.read("x", 1)).rejects.toThrow(DeadlinePassedError);
    past.extendDeadline(inMs(60_000));
    expect((await run(past, "echo on")).stdout).toBe("on\n");
    await past.close();
  });

  test("comes to the deadline, it kills that sandbox's commands and no others", async () => {
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
