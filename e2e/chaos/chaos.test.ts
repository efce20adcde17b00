import { expect, test } from "vitest";
import { runRound } from "./round.ts";

/**
 * Executes scripted runs on two servers, three workers and one PostgreSQL while the round kills, pauses, disconnects and
 * restarts each of them. `make chaos` runs many more seeds.
 */

const { CHAOS_SEED } = process.env;
const seeds = CHAOS_SEED ? [Number(CHAOS_SEED)] : [6];

test.each(seeds)("all invariants hold while components fail (seed %i)", async (seed) => {
  const { problems, folder } = await runRound(seed);
  expect(problems, `CHAOS_SEED=${seed} repeats the plan; logs and data are in ${folder}`).toEqual([]);
});
