import { randomUUID } from "node:crypto";
import type { HeartbeatRequest } from "@outrider/contract/worker";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Heartbeats } from "../../src/engine/dispatch/heartbeats.ts";
import { abandonLease } from "../../src/store/dispatch/leases.ts";
import { drainWorker } from "../../src/store/dispatch/workers.ts";
import { lockRunState } from "../../src/store/runs/run-state.ts";
import { newWorker, type TestEngine, testEngine } from "../engine.ts";
import { recordStatements } from "./record-statements.ts";
import { claimWithNewWorker, registerWorker } from "./registered-worker.ts";

const LEASE_MS = 600_000;

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine();
});
afterAll(() => engine.stop());
afterEach(() => engine.db`delete from runs`);

const registered = () => registerWorker(engine);
async function claimed(): Promise<HeartbeatRequest> {
  const { worker, runId, executionId } = await claimWithNewWorker(engine);
  return { worker, executions: [{ run_id: runId, execution_id: executionId }] };
}

const idsOf = ({ executions }: HeartbeatRequest) => executions.map(({ execution_id }) => execution_id);
const opened = () => new Heartbeats({ db: engine.db, leaseMs: LEASE_MS });
const leaseOf = async (runId: string) =>
  (
    await engine.db`select lease_expires_at - outrider_now() > interval '5 minutes' as is_renewed
    from run_state where run_id = ${runId}`
  )[0]?.is_renewed;

describe("heartbeats of many workers", () => {
  test("are recorded in one statement, with an answer for each worker", async () => {
    const [first, second, third] = [await claimed(), await claimed(), await claimed()];
    const idle = { worker: { ...(await registered()), slots: 7 }, executions: [] };
    const draining = { worker: await registered(), executions: [] };
    await drainWorker(engine.db, draining.worker.worker_id);
    const stolen = { worker: await registered(), executions: first.executions };
    const wrong = {
      ...second,
      executions: [...second.executions, { run_id: randomUUID(), execution_id: randomUUID() }],
    };
    await engine.db`update run_state set lease_expires_at = outrider_now() where run_id = ${third.executions[0]?.run_id as string}`;
    const stats = { slots_used: 3, sandboxes: 0, memory_bytes: 1, cpu_seconds: 1 };
    const withStats = {
      ...idle,
      stats: { ...stats, disk_free_bytes: {}, cache_bytes: {}, errors: {}, log_lines: {} },
    };
    const heartbeats = opened();
    await using statements = recordStatements(engine.db);
    const answers = await Promise.all(
      [first, wrong, third, withStats, draining, stolen].map((request) => heartbeats.record(request)),
    );
    expect(statements.texts).toHaveLength(1);
    expect(answers).toEqual([
      { held: idsOf(first), draining: false },
      { held: idsOf(second), draining: false },
      { held: [], draining: false },
      { held: [], draining: false },
      { held: [], draining: true },
      { held: [], draining: false },
    ]);
    expect(await leaseOf(first.executions[0]?.run_id as string)).toBe(true);
    expect(await leaseOf(third.executions[0]?.run_id as string)).toBe(false);
    const [row] = await engine.db`
      select slots, stats -> 'slots_used' as used, stats_at is not null as has_stats from workers where worker_id = ${idle.worker.worker_id}`;
    expect(row).toEqual({ slots: 7, used: 3, has_stats: true });
    // Without stats, the last ones stay.
    await heartbeats.record(idle);
    const [kept] =
      await engine.db`select stats -> 'slots_used' as used from workers where worker_id = ${idle.worker.worker_id}`;
    expect(kept?.used).toBe(3);
  });

  test("do not wait for a run that a slow transaction has locked", async () => {
    const [slow, other] = [await claimed(), await claimed()];
    const heartbeats = opened();
    const [execution] = slow.executions;
    const { run_id: runId, execution_id: executionId } = execution as {
      run_id: string;
      execution_id: string;
    };
    let delayed: Promise<unknown> | undefined;
    await engine.tx(async (tx) => {
      await lockRunState(tx, runId);
      delayed = heartbeats.record(slow);
      expect(await heartbeats.record(other)).toEqual({ held: idsOf(other), draining: false });
      await abandonLease(tx, { runId, executionId, reason: "test", outcome: "LOST", refund: false });
    });
    // Its answer includes what the transaction has changed.
    expect(await delayed).toEqual({ held: [], draining: false });
  });

  test("do not wait for a worker's row that a slow transaction has locked", async () => {
    const [slow, other] = [await claimed(), await claimed()];
    const heartbeats = opened();
    let delayed: Promise<unknown> | undefined;
    await engine.tx(async (tx) => {
      await drainWorker(tx, slow.worker.worker_id);
      delayed = heartbeats.record(slow);
      expect(await heartbeats.record(other)).toEqual({ held: idsOf(other), draining: false });
    });
    expect(await delayed).toEqual({ held: idsOf(slow), draining: true });
  });

  test("are recorded even if one of them cannot be stored", async () => {
    const [bad, good] = [await claimed(), await claimed()];
    const heartbeats = opened();
    const broken = heartbeats.record({ ...bad, worker: { ...bad.worker, name: "\u0000" } });
    const fine = heartbeats.record(good);
    await expect(broken).rejects.toThrow();
    expect(await fine).toEqual({ held: idsOf(good), draining: false });
  });

  test("register a worker whose row was deleted, and may come twice from one worker", async () => {
    const worker = newWorker();
    const request = { worker, executions: [] };
    const heartbeats = opened();
    const answers = await Promise.all([heartbeats.record(request), heartbeats.record(request)]);
    expect(answers).toEqual([
      { held: [], draining: false },
      { held: [], draining: false },
    ]);
    expect(await engine.db`select 1 from workers where worker_id = ${worker.worker_id}`).toHaveLength(1);
  });
});
