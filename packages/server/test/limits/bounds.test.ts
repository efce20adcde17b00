import type { Assignment, TurnOutcome } from "@outrider/contract/worker";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { close, finish, release } from "../../src/engine/runs/executions.ts";
import { sendFollowup } from "../../src/engine/runs/followups.ts";
import { cancelRun, getRun } from "../../src/engine/runs/runs.ts";
import { renewLeases } from "../../src/store/dispatch/leases.ts";
import { logOf, newWorker, someUsage, startClock, type TestEngine, testEngine } from "../engine.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The lease plus the grace period. */
const LOST = 35 * SECOND;

let engine: TestEngine;
let after: (ms: number) => Promise<void>;
beforeAll(async () => {
  engine = await testEngine({ connections: 1 });
});
afterAll(() => engine.stop());
beforeEach(async () => {
  after = await startClock(engine);
});
afterEach(() => engine.db`delete from runs`);

const get = (run_id: string) => getRun(engine.db, engine.admin, run_id);
const log = (run_id: string) => logOf(engine.db, run_id);
const send = (run_id: string, mode: "auto" | "queue" = "auto") =>
  engine.tx((tx) => sendFollowup(tx, engine.admin, run_id, { message: "and this", mode }));
const cancel = (run_id: string) => engine.tx((tx) => cancelRun(tx, engine.admin, run_id));
const end = ({ run_id, execution_id }: Assignment, outcome: TurnOutcome) =>
  engine.tx((tx) => finish(tx, execution_id, { run_id, batch: 1, events: [], usage: someUsage, outcome }));
const closeWith = ({ run_id, execution_id }: Assignment, seq: number) =>
  engine.tx((tx) => close(tx, execution_id, { run_id, snapshot: { sha256: "0".repeat(64), seq } }));
const renew = (executions: Pick<Assignment, "run_id" | "execution_id">[], leaseMs: number) =>
  renewLeases(engine.db, { workerId: engine.worker.worker_id, executions, leaseMs });
const snapshotOf = async (run_id: string) =>
  (await engine.db`select snapshot_seq from runs where run_id = ${run_id}`)[0]?.snapshot_seq;

describe("a lost worker", () => {
  test("costs an attempt, and the third one fails the run", async () => {
    const { run_id } = await engine.claimed();
    for (const attempt of [2, 3]) {
      await after(LOST);
      expect(await get(run_id)).toMatchObject({ state: "INPROGRESS", phase: "recovering" });
      expect(await engine.claim()).toMatchObject([{ run_id, turn: 1, attempt }]);
    }
    await after(LOST);
    expect(await get(run_id)).toMatchObject({
      state: "FAILED",
      status_message: { error_code: "worker_lost", retryable: true, remedy: expect.any(String) },
    });
    expect((await log(run_id)).slice(-3)).toEqual([
      "run.recovering 1.2",
      "run.claimed 1.3",
      "run.failed 1.3",
    ]);
  });

  test("is detected after lease and grace period, not earlier", async () => {
    const { run_id, execution_id } = await engine.claimed();
    await after(LOST - 1);
    expect(await get(run_id)).toMatchObject({ phase: "preparing" });
    // It is too late to renew: the sandbox has stopped by now.
    const executions = [{ run_id, execution_id }];
    expect(await renew(executions, 30_000)).toEqual([]);
    await after(1);
    expect(await get(run_id)).toMatchObject({ phase: "recovering" });
  });

  test("is not detected while heartbeats arrive in time", async () => {
    const { run_id, execution_id } = await engine.claimed();
    for (let round = 0; round < 5; round++) {
      await after(29 * SECOND);
      const executions = [{ run_id, execution_id }];
      expect(await renew(executions, 30_000)).toEqual([execution_id]);
    }
    expect(await get(run_id)).toMatchObject({ phase: "preparing", attempts: 1 });
  });

  test("does not lose undelivered follow-ups", async () => {
    const { run_id } = await engine.claimed();
    for (const _ of [2, 3]) {
      await after(LOST);
      await engine.claim();
    }
    await send(run_id);
    await after(LOST);
    expect(await get(run_id)).toMatchObject({ state: "QUEUED", turns: 2, attempts: 0 });
    expect((await log(run_id)).slice(-2)).toEqual(["run.failed 1.3", "run.reopened 2.0"]);
    const [next] = (await engine.claim()) as [Assignment];
    expect(next.history.at(-1)).toMatchObject({ type: "message.user", turn: 2 });
  });

  test("that returns its run costs no attempt", async () => {
    const first = await engine.claimed();
    const { run_id } = first;
    for (let round = 0, held = first; round < 5; round++) {
      await engine.tx((tx) => release(tx, held.execution_id, { run_id }));
      expect(await get(run_id)).toMatchObject({ state: "INPROGRESS", phase: "recovering", attempts: 0 });
      [held] = (await engine.claim({ worker: newWorker() })) as [Assignment];
      expect(held).toMatchObject({ run_id, turn: 1, attempt: 1 });
    }
    await engine.tx((tx) => release(tx, first.execution_id, { run_id }));
    expect(await get(run_id)).toMatchObject({ phase: "preparing", attempts: 1 });
  });
});

describe("a run fails", () => {
  test("if no worker claims it within 24 hours", async () => {
    const run_id = await engine.create();
    await after(DAY - 1);
    expect(await get(run_id)).toMatchObject({ state: "QUEUED" });
    await after(1);
    expect(await get(run_id)).toMatchObject({
      state: "FAILED",
      status_message: { error_code: "resource_unavailable", retryable: true },
    });
    expect(await log(run_id)).toEqual(["run.created 1.0", "run.failed 1.0"]);
  });

  test("if its question is not answered for 7 days, which do not count for the turn's timeout", async () => {
    const held = await engine.claimed();
    await end(held, { type: "blocked", question: "which?" });
    await after(7 * DAY - 1);
    expect(await get(held.run_id)).toMatchObject({ state: "BLOCKED" });
    await after(1);
    expect(await get(held.run_id)).toMatchObject({
      state: "FAILED",
      status_message: { error_code: "timeout" },
    });
  });

  test("but an answer starts a new turn with the full timeout", async () => {
    const held = await engine.claimed();
    await end(held, { type: "blocked", question: "which?" });
    await after(6 * DAY);
    await send(held.run_id);
    expect(await engine.claim()).toMatchObject([{ turn: 2, attempt: 1, limits: { timeout_ms: HOUR } }]);
  });

  test.each([
    ["the installation's", {}, HOUR],
    ["its own", { limits: { timeout_minutes: 5 } }, 5 * MINUTE],
  ])("if a turn exceeds %s timeout and the time to wrap up", async (_, request, timeout) => {
    const held = await engine.claimed(request);
    expect(held.limits.timeout_ms).toBe(timeout);
    const { run_id, execution_id } = held;
    const alive = async () => {
      const executions = [{ run_id, execution_id }];
      await renew(executions, 2 * HOUR);
    };
    await alive();
    await after(timeout + 30 * SECOND - 1);
    expect(await get(run_id)).toMatchObject({ state: "INPROGRESS" });
    await after(1);
    expect(await get(run_id)).toMatchObject({
      state: "FAILED",
      status_message: { error_code: "timeout", retryable: false },
    });
    await closeWith(held, 2);
    expect(await snapshotOf(run_id)).toBe(2);
  });

  test("after the rest of its turn's timeout if another worker resumes it", async () => {
    await engine.claimed();
    await after(40 * MINUTE);
    const [resumed] = (await engine.claim()) as [Assignment];
    expect(resumed).toMatchObject({ attempt: 2, limits: { timeout_ms: 20 * MINUTE } });
  });

  test("if no worker resumes it", async () => {
    const { run_id } = await engine.claimed();
    await after(LOST);
    await after(HOUR);
    expect(await get(run_id)).toMatchObject({ state: "FAILED", status_message: { error_code: "timeout" } });
  });

  test("but continues with undelivered follow-ups in a new turn", async () => {
    const held = await engine.claimed();
    await send(held.run_id, "queue");
    const outcome = { type: "failed", error_code: "model_error", message: "no" } as const;
    for (let round = 0; round < 2; round++) {
      expect(await end(held, outcome)).toEqual({ ended: true, followups: [] });
    }
    expect(await get(held.run_id)).toMatchObject({ state: "QUEUED", turns: 2 });
    expect(await log(held.run_id)).toEqual([
      ...["run.created 1.0", "run.claimed 1.1", "run.failed 1.1", "run.reopened 2.0"],
    ]);
  });
});

describe("after a cancel, the last execution", () => {
  test("may close once, without writing to the log", async () => {
    const held = await engine.claimed();
    await cancel(held.run_id);
    await after(59 * SECOND);
    await closeWith(held, 2);
    await closeWith(held, 1);
    expect(await snapshotOf(held.run_id)).toBe(2);
    expect((await log(held.run_id)).at(-1)).toBe("run.cancelled 1.1");
  });

  test("may not close after 60 seconds", async () => {
    const held = await engine.claimed();
    await cancel(held.run_id);
    await after(MINUTE);
    await closeWith(held, 2);
    expect(await snapshotOf(held.run_id)).toBe(null);
  });

  test("delays the next turn until it closes", async () => {
    const held = await engine.claimed();
    await cancel(held.run_id);
    await send(held.run_id);
    expect(await engine.claim()).toEqual([]);
    await closeWith(held, 2);
    expect(await engine.claim()).toMatchObject([{ run_id: held.run_id, turn: 2, snapshot: { seq: 2 } }]);
  });

  test("delays the next turn by at most 60 seconds", async () => {
    const held = await engine.claimed();
    await cancel(held.run_id);
    await send(held.run_id);
    await after(MINUTE - 1);
    expect(await engine.claim()).toEqual([]);
    await after(1);
    expect(await engine.claim()).toMatchObject([{ run_id: held.run_id, turn: 2 }]);
    await closeWith(held, 2);
    expect(await snapshotOf(held.run_id)).toBe(null);
  });

  test("is the only one that may close", async () => {
    const first = await engine.claimed();
    await after(LOST);
    const [second] = (await engine.claim()) as [Assignment];
    await cancel(first.run_id);
    await closeWith(first, 1);
    expect(await snapshotOf(first.run_id)).toBe(null);
    await closeWith(second, 2);
    expect(await snapshotOf(first.run_id)).toBe(2);
  });
});
