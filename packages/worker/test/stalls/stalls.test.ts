import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Running, run as spawnOutrider } from "../../../../e2e/process.ts";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import {
  type Event,
  longSleep,
  processesWith,
  startTestInstallation,
  type TestInstallation,
  waitForSleep,
  workerPidsOf,
} from "../installation.ts";

/**
 * Long enough that a healthy process on a busy machine is not taken for a stuck one, for example while it loads modules.
 * Far below the lease of 30 seconds, so that no lease expires.
 */
const STALL_SECONDS = 4;

let installation: TestInstallation;
let worker: StallingWorker;
afterEach(async () => {
  await worker.running.end("SIGKILL");
  await vi.waitUntil(() => processesWith(worker.folder).length === 0, waitOptions);
  await installation.stop();
});

interface StallingWorker {
  running: Running;
  folder: string;
  log: string;
}

/** Starts a worker whose event loop blocks when a run says one of the markers in block-event-loop.ts. */
async function startStallingWorker(): Promise<StallingWorker> {
  const folder = join(installation.workersFolder, "stalling");
  const log = `${installation.workersFolder}.log`;
  const fifo = `${installation.workersFolder}.fifo`;
  execFileSync("mkfifo", [fifo]);
  const args = ["worker", "--server", installation.origin, "--name", "stalling", "--data-dir", folder];
  const running = spawnOutrider([...args, "--stall-seconds", String(STALL_SECONDS)], {
    OUTRIDER_WORKER_KEY: installation.workerKey,
    NODE_OPTIONS: `--import=${join(import.meta.dirname, "block-event-loop.ts")}`,
    BLOCK_LOG: log,
    BLOCK_FIFO: fifo,
  });
  await running.waitForOutput("ready for runs");
  return { running, folder, log };
}

/** Returns the processes that recorded a line with the text: a marker or the path of a request. */
const pidsWith = (text: string) => {
  const lines = readFileSync(worker.log, "utf8").trim().split("\n");
  return [...new Set(lines.filter((line) => line.includes(text)).map((line) => Number.parseInt(line, 10)))];
};
/** Returns the processes that sent events of the execution, with a report or together with the outcome. */
const pidsOf = (executionId: string) => [
  ...new Set(["report", "finish"].flatMap((call) => pidsWith(`/executions/${executionId}/${call}`))),
];
/** Returns the ids of a run's executions, the earliest first. */
async function executionsOf(run: string): Promise<string[]> {
  const rows = await installation.db`
    select execution_id from executions where run_id = ${run} order by claimed_at`;
  return rows.map(({ execution_id }) => execution_id);
}
/** Waits until the run has been claimed a second time, and returns its executions. */
const claimedAgain = (run: string) =>
  vi.waitUntil(async () => {
    const executions = await executionsOf(run);
    return executions.length >= 2 ? executions : undefined;
  }, waitOptions);
const nonEmpty = (pids: number[]) => {
  const [first, ...others] = pids;
  return first === undefined ? undefined : ([first, ...others] as const);
};
const reasonsIn = (events: Event[]) =>
  events.filter(({ type }) => type === "run.recovering").map(({ data }) => data.reason as string);

/** Creates a run that is in the middle of a command. */
async function createSleepingRun() {
  const { command, mark } = longSleep();
  const run = await installation.create([`RUN: ${command}`]);
  await waitForSleep(mark);
  return { run, mark };
}

/** Ends a run that was created by `createSleepingRun` and expects that it has lost no attempt. */
async function expectFirstAttempt(run: string) {
  await installation.followUp(run, ["SAY: enough"], { mode: "interrupt" });
  expect(await installation.until(run, "SUCCEEDED")).toMatchObject({ attempts: 1, turns: 1 });
}

describe("a worker process that is unresponsive", () => {
  test("is restarted, and only the run that caused it is retried alone, once", async () => {
    const marker = "BLOCK IN A REGULAR EXPRESSION";
    installation = await startTestInstallation();
    worker = await startStallingWorker();
    const neighbors = [await createSleepingRun(), await createSleepingRun()];
    const suspect = await installation.create([`SAY: ${marker}`, "RUN: echo never"]);

    const { status_message } = await installation.until(suspect, "FAILED");
    expect(status_message).toMatchObject({ error_code: "internal_error" });
    expect(status_message.message).toContain("made its worker unresponsive twice");
    const events = await installation.events(suspect);
    const changes = events.filter(({ type }) => /^run\.(claimed|recovering|succeeded|failed)$/.test(type));
    expect(changes).toMatchObject([
      { type: "run.claimed", attempt: 1 },
      {
        type: "run.recovering",
        data: { reason: expect.stringContaining("The run made its worker unresponsive.") },
      },
      { type: "run.claimed", attempt: 2 },
      { type: "run.failed", attempt: 2 },
    ]);
    // Both attempts blocked, in different processes. The second process has executed no other run.
    const [first, alone, ...more] = pidsWith(marker);
    expect(more).toEqual([]);
    expect(alone).not.toBe(first);

    for (const { run, mark } of neighbors) {
      const executions = await claimedAgain(run);
      const [reason] = reasonsIn(await installation.events(run));
      expect(reason).toBe("The worker became unresponsive and was restarted.");
      await waitForSleep(mark);
      for (const id of executions) {
        const pids = await vi.waitUntil(() => nonEmpty(pidsOf(id)), waitOptions);
        expect(pids).not.toContain(alone);
      }
      await expectFirstAttempt(run);
      await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
    }
    const errors = worker.running
      .stdout()
      .split("\n")
      .filter((line) => line.includes("was unresponsive"))
      .map((line) => JSON.parse(line));
    expect(errors.filter(({ run_id }) => run_id === suspect)).toMatchObject([
      { level: 50, run_id: suspect, executions: 3 },
      { level: 50, run_id: suspect, executions: 1 },
    ]);
    await vi.waitFor(async () => {
      const { text } = await installation.call("GET", `${installation.origin}/metrics`);
      const [, stalls] =
        /^outrider_worker_errors_total\{worker="[^"]+",kind="stall"\} (\d+)$/m.exec(text) ?? [];
      expect(Number(stalls)).toBe(errors.length);
    }, waitOptions);
    // SIGTERM still drains the restarted worker.
    expect(await worker.running.end("SIGTERM")).toEqual({ code: 0, signal: null });
  });

  test("retries all of its runs alone if the cause is unknown, and no process outlives the supervisor", async () => {
    installation = await startTestInstallation();
    worker = await startStallingWorker();
    const neighbor = await createSleepingRun();
    const suspect = await installation.create(["SAY: BLOCK ONCE IN NATIVE CODE", "SAY: done"]);

    expect(await installation.until(suspect, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    const pids: number[] = [];
    for (const run of [suspect, neighbor.run]) {
      const [, second] = (await claimedAgain(run)) as [string, string];
      const [reason] = reasonsIn(await installation.events(run));
      expect(reason).toContain("retried in a process of its own");
      const [pid, ...others] = await vi.waitUntil(() => nonEmpty(pidsOf(second)), waitOptions);
      expect(others).toEqual([]);
      pids.push(pid);
    }
    await waitForSleep(neighbor.mark);
    expect(pids[0]).not.toBe(pids[1]);
    const claiming = pidsWith("/claim");
    expect(claiming.length).toBeGreaterThanOrEqual(2);
    for (const pid of pids) expect(claiming).not.toContain(pid);

    expect(processesWith(worker.folder).length).toBeGreaterThan(2);
    await worker.running.end("SIGKILL");
    await vi.waitUntil(() => processesWith(worker.folder).length === 0, waitOptions);
    await vi.waitUntil(() => processesWith(neighbor.mark).length === 0, waitOptions);
  });
});

test("a suspended worker is not taken for an unresponsive one", async () => {
  installation = await startTestInstallation();
  worker = await startStallingWorker();
  const { run } = await createSleepingRun();
  const pids = workerPidsOf(worker.running.pid);
  expect(pids).toHaveLength(2);
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  const suspendedAt = performance.now();
  await vi.waitUntil(() => performance.now() - suspendedAt > STALL_SECONDS * 3_000, waitOptions);
  const readLastSeen = async () => {
    const [row] = await installation.db`select last_seen_at from workers where name = 'stalling'`;
    return row?.last_seen_at;
  };
  const before = await readLastSeen();
  for (const pid of pids) process.kill(pid, "SIGCONT");
  await vi.waitUntil(async () => (await readLastSeen()) > before, waitOptions);
  await expectFirstAttempt(run);
  expect(await executionsOf(run)).toHaveLength(1);
  expect(workerPidsOf(worker.running.pid)).toEqual(pids);
});
