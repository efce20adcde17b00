import { afterAll, beforeAll, expect, test } from "vitest";
import { listOverdue } from "../../src/store/dispatch/leases.ts";
import { INSTALLATION } from "../../src/store/usage/rollups.ts";
import { setClock, type TestEngine, testEngine } from "../engine.ts";

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine({ connections: 1 });
});
afterAll(() => engine?.stop());

/** Makes the installation have so many active runs besides those in its tables. */
const addActive = (count: number) =>
  engine.db`
    insert into active_counts (kind, id, count) values ('installation', ${INSTALLATION}, ${count})
    on conflict (kind, id) do update set count = active_counts.count + excluded.count`;

test("many active runs are read less often, and runs in the queue in each turn", async () => {
  const { db, policy } = engine;
  const start = Date.UTC(2031, 0, 1);
  await setClock(db, start);
  const { run_id } = await engine.claimed();
  const queued = await engine.create();
  await addActive(160_000);
  const overdue = start + policy.queueMs + 1;
  const list = async (now: number) => {
    await setClock(db, now);
    return (await listOverdue(db, policy, { turnMs: 500 })).map((found) => found.run_id).sort();
  };
  const both = [run_id, queued].sort();
  expect(await list(overdue)).toEqual(both);
  for (const ms of [1_000, 5_000, 9_000]) expect(await list(overdue + ms)).toEqual([queued]);
  expect(await list(overdue + 10_100)).toEqual(both);
  expect(await list(overdue + 11_000)).toEqual([queued]);
  // A clock that was set back delays nothing.
  expect(await list(overdue + 5_000)).toEqual(both);
  await addActive(-160_000);
  expect(await list(overdue + 6_000)).toEqual(both);
  await db`delete from runs`;
});

test("servers take turns in reading all active runs, and a clock that was set back skips no turn", async () => {
  const { db, policy } = engine;
  const start = Date.UTC(2030, 0, 1);
  await setClock(db, start);
  const { run_id } = await engine.claimed();
  const overdue = start + policy.leaseMs + policy.graceMs + 1;
  const list = async (now: number) => {
    await setClock(db, now);
    return await listOverdue(db, policy, { turnMs: 500 });
  };
  const found = [{ run_id, state: "INPROGRESS", reason: "lease" }];
  expect(await list(overdue)).toEqual(found);
  expect(await list(overdue + 499)).toEqual([]);
  expect(await list(overdue + 501)).toEqual(found);
  expect(await list(overdue + 100)).toEqual(found);
  // After a crash, PostgreSQL empties the table.
  await db`truncate reaper_turn`;
  expect(await list(overdue + 101)).toEqual(found);
  expect(await list(overdue + 102)).toEqual([]);
  // A check of one run while holding its lock takes no turn.
  expect(await listOverdue(db, policy, { runId: run_id })).toEqual(found);
});
