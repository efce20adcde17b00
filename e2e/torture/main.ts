import { playRound } from "./round.ts";

/** `make torture`: a hundred seeds, or those that are named. Stops at the first that fails. */

const named = [...process.argv.slice(2), ...(process.env.TORTURE_SEED ? [process.env.TORTURE_SEED] : [])];
const seeds = named.length > 0 ? named.map(Number) : Array.from({ length: 100 }, (_, index) => index + 1);
if (!seeds.every(Number.isSafeInteger)) throw new Error("Seeds are whole numbers.");
// Leaving by exit takes the round's processes along.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

for (const [index, seed] of seeds.entries()) {
  const { problems, story, folder } = await playRound(seed);
  console.log(
    `${index + 1}/${seeds.length} seed ${seed}: ${problems.length > 0 ? "FAILED" : "passed"}; ${story}`,
  );
  if (problems.length === 0) continue;
  for (const problem of problems) console.log(`  ${problem}`);
  console.log(`  What it left is in ${folder}. TORTURE_SEED=${seed} make torture repeats its plan.`);
  process.exit(1);
}
