import { expect, test } from "vitest";
import { playRound } from "./round.ts";

/**
 * Scripted runs over two servers, three workers and one PostgreSQL, while each of them is killed, stopped, cut off and
 * restarted. Many more seeds: `make torture`.
 */

const { TORTURE_SEED } = process.env;
const seeds = TORTURE_SEED ? [Number(TORTURE_SEED)] : [6];

test.each(seeds)("every promise outlives what breaks (seed %i)", { timeout: 180_000 }, async (seed) => {
  const { problems, folder } = await playRound(seed);
  expect(problems, `TORTURE_SEED=${seed} repeats the plan; what it left is in ${folder}`).toEqual([]);
});
