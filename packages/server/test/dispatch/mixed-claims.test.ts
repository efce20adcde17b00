import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cancelRun } from "../../src/engine/runs/runs.ts";
import { claimBatch } from "../../src/store/dispatch/claims.ts";
import { isFull, newWorker, type TestEngine, testEngine } from "../engine.ts";

const ROUNDS = isFull ? 200 : 20;
const MAX = { installation: 5, key: 3 };
/** More than the limits, so that each claim alone could exceed them. */
const FREE = 6;
const RUNS_PER_ROUND = 10;

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine({ connections: 10 });
});
afterAll(() => engine.stop());

/** Claims as servers of each version do. Each returns the number of runs that it claimed. */
const versions: Record<string, () => Promise<number>> = {
  async outrider_claim() {
    const rows = await engine.db<{ run_id: string | null }[]>`
      select run_id from outrider_claim(${randomUUID()}, 'w', '0', ${FREE}, ${randomUUID()}, ${FREE}, 60000, 60000,
        ${MAX.installation}, 10, null)`;
    return rows.filter(({ run_id }) => run_id).length;
  },
  async outrider_claim_runs() {
    const rows = await engine.db<{ run_id: string | null }[]>`
      select run_id from outrider_claim_runs(${randomUUID()}, 'w', '0', ${FREE}, ${randomUUID()}, ${FREE}, 60000, 60000,
        ${MAX.installation}, 10, null, true)`;
    return rows.filter(({ run_id }) => run_id).length;
  },
  async outrider_claim_batch() {
    const claims = [1, 2].map(() => ({
      ...{ request_id: randomUUID(), worker: newWorker(), free: FREE / 2, labels: {} },
    }));
    const limits = { ...engine.policy, maxConcurrentRuns: MAX.installation, history: 10 };
    const { claimed } = await claimBatch(engine.db, { pool: "default", claims }, limits);
    return [...claimed.values()].reduce((sum, { work }) => sum + work.length, 0);
  },
};

test("claims of servers of several versions never exceed a limit together", async () => {
  const key = await engine.key({
    ...{ name: "narrow", type: "personal", limits: { max_concurrent_runs: MAX.key } },
  });
  const countActive = async () => {
    const [row] = await engine.db<{ installation: number; key: number }[]>`
      select count(*)::int as installation, count(*) filter (where key_id = ${key.credentialId})::int as key
      from run_state where state = 'INPROGRESS'`;
    return row as { installation: number; key: number };
  };
  const claimedBy: Record<string, number> = {};
  const claim = async (version: string) => {
    const claimed = (await versions[version]?.()) ?? 0;
    claimedBy[version] = (claimedBy[version] ?? 0) + claimed;
    const active = await countActive();
    expect(active.installation).toBeLessThanOrEqual(MAX.installation);
    expect(active.key).toBeLessThanOrEqual(MAX.key);
  };
  const names = Object.keys(versions);
  const order = (round: number) => names.map((_, index) => names[(index + round) % names.length] as string);

  for (let round = 0; round < ROUNDS; round++) {
    for (let count = 0; count < RUNS_PER_ROUND; count++)
      await engine.create({}, count % 2 ? key : engine.admin);
    await Promise.all([...order(round), ...order(round + 1), ...order(round + 2)].map(claim));
    expect((await countActive()).installation).toBe(MAX.installation);
    // Runs that end make room while others are claimed.
    const end = (run: string) => engine.tx((tx) => cancelRun(tx, engine.admin, run));
    const active = await engine.db<
      { run_id: string }[]
    >`select run_id from run_state where state = 'INPROGRESS' limit 3`;
    await Promise.all([...active.map(({ run_id }) => end(run_id)), ...order(round).map(claim)]);
    for (const { run_id } of await engine.db<{ run_id: string }[]>`
      select run_id from run_state where state in ('QUEUED', 'INPROGRESS')`)
      await end(run_id);
  }
  expect(Object.keys(claimedBy).sort()).toEqual([...names].sort());
  for (const name of names) expect(claimedBy[name]).toBeGreaterThan(0);
});
