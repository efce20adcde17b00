import { afterAll, beforeAll, expect, test } from "vitest";
import { listOverdue } from "../../src/store/dispatch/leases.ts";
import { setClock, type TestEngine, testEngine } from "../engine.ts";

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine({ connections: 1 });
});
afterAll(() => engine?.stop());

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
