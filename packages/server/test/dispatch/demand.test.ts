import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DemandReader } from "../../src/engine/dispatch/demand.ts";
import { newWorker, type TestEngine, testEngine } from "../engine.ts";
import { recordStatements } from "./record-statements.ts";

let engine: TestEngine;
let demand: DemandReader;
beforeEach(async () => {
  engine = await testEngine({ connections: 1 });
  demand = new DemandReader(engine.db);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await engine.stop();
});

/** Adds active runs of a worker with a valid lease. */
async function addActive(count: number) {
  const { worker_id } = newWorker();
  await engine.tx(async (tx) => {
    // The rows have no run, which makes the test faster.
    await tx`set local session_replication_role = replica`;
    await tx`
      insert into run_state (run_id, state, phase, attempt, last_seq, owner_uid, key_id, execution_id, worker_id, lease_expires_at)
      select gen_random_uuid(), 'INPROGRESS', 'working', 1, 1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(),
        ${worker_id}, outrider_now() + interval '1 day' from generate_series(1, ${count}::int)`;
  });
}

test("counts queued, leased, overdue and recovering runs", async () => {
  const { db } = engine;
  const runs = [1, 2, 3].map(() => engine.create());
  await Promise.all(runs);
  const [overdue, lost] = await engine.claim({ free: 2 });
  await db`update run_state set queued_at = outrider_now() - interval '1 minute' where state = 'QUEUED'`;
  await db`update run_state set lease_expires_at = outrider_now() - interval '1 s' where run_id = ${overdue?.run_id as string}`;
  await db`
    update run_state set execution_id = null, worker_id = null, lease_expires_at = null
    where run_id = ${lost?.run_id as string}`;
  await addActive(5);
  expect(await demand.read()).toEqual({
    pools: [
      {
        ...{ pool: "default", queued: 2, running: 6, workers: 1, slots: 100, free: 99 },
        oldest_wait_seconds: expect.closeTo(60, -2),
      },
    ],
    ...{ leases_held: 6, leases_overdue: 1, recovering: 1, oldest_queued_seconds: expect.closeTo(60, -2) },
  });
});

test("is read again at once for few runs, and later for many", async () => {
  await addActive(1_600);
  await using statements = recordStatements(engine.db);
  const now = vi.spyOn(performance, "now").mockReturnValue(1_000);
  await Promise.all([demand.read(), demand.listPools(), demand.findPool("gpu")]);
  expect(statements.texts).toHaveLength(1);
  now.mockReturnValue(1_099);
  await demand.listPools();
  expect(statements.texts).toHaveLength(1);
  now.mockReturnValue(1_101);
  await demand.listPools();
  expect(statements.texts).toHaveLength(2);

  await engine.db`delete from run_state`;
  now.mockReturnValue(1_201);
  statements.texts.length = 0;
  for (let count = 1; count <= 3; count++) {
    await demand.read();
    expect(statements.texts).toHaveLength(count);
  }
});

test("is read again after a failure", async () => {
  await engine.db`alter table run_state rename to moved`;
  await expect(demand.read()).rejects.toThrow("run_state");
  await engine.db`alter table moved rename to run_state`;
  expect(await demand.findPool("gpu")).toMatchObject({ pool: "gpu", workers: 0 });
});
