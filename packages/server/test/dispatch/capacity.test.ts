import { afterAll, beforeAll, expect, test } from "vitest";
import { findCapacity } from "../../src/store/dispatch/workers.ts";
import { newWorker, type TestEngine, testEngine } from "../engine.ts";

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine();
});
afterAll(() => engine.stop());

const capacity = (pool: string, selector = {}) =>
  findCapacity(engine.db, { aliveMs: 60_000, requirement: { pool, selector, needsHarness: false } });
const claimWith = (slots: number, place: { pool?: string; labels?: Record<string, string> }, free: number) =>
  engine.claim({ worker: { ...newWorker(), slots, ...place }, free });
const eu = { region: "eu" };

test("the free slots of some of the workers are counted exactly if they are few, and up to a limit", async () => {
  for (let count = 0; count < 3; count++) await engine.create({ config: { worker_host: "gpu" } });
  expect(await claimWith(4, { pool: "gpu", labels: eu }, 2)).toHaveLength(2);
  expect(await claimWith(1, { pool: "gpu" }, 1)).toHaveLength(1);
  await claimWith(7, {}, 0);
  expect(await capacity("gpu")).toEqual({ workers: 2, free: 2 });
  expect(await capacity("gpu", eu)).toEqual({ workers: 1, free: 2 });
  expect(await capacity("default")).toEqual({ workers: 1, free: 7 });
  expect(await capacity("none")).toEqual({ workers: 0, free: 0 });

  // A worker with fewer slots than runs, because it was restarted with other settings, takes none from the others.
  await engine.db`update workers set slots = 1 where labels @> ${engine.db.json(eu)}`;
  expect(await capacity("gpu")).toEqual({ workers: 2, free: 0 });

  await claimWith(600, { pool: "big" }, 0);
  expect(await capacity("big")).toEqual({ workers: 1, free: 600 });
  await claimWith(600, { pool: "big" }, 0);
  expect(await capacity("big")).toEqual({ workers: 2, free: 1_000 });
});

test("of many workers in a pool, only some are looked at", async () => {
  const found = await engine.tx(async (tx) => {
    // The executions have no run, which makes the test faster.
    await tx`set local session_replication_role = replica`;
    await tx`
      with worker as (
        insert into workers (worker_id, name, version, slots, pool)
        select gen_random_uuid(), n::text, '0', 1, 'huge' from generate_series(1, 3000) n returning worker_id, name
      )
      insert into executions (execution_id, run_id, turn, attempt, worker_id, request_id, claimed_at)
      select gen_random_uuid(), gen_random_uuid(), 1, 1, worker_id, gen_random_uuid(), outrider_now() from worker
      where name::int % 10 >= 3`;
    const requirement = { pool: "huge", selector: {}, needsHarness: false };
    return findCapacity(tx, { aliveMs: 60_000, requirement });
  });
  // Of all workers, 900 are free.
  expect(found.workers).toBe(3_000);
  expect(found.free).toBeGreaterThan(0);
  expect(found.free).toBeLessThan(900);
});
