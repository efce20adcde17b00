import { runRound } from "./round.ts";

/** `make chaos`: runs a hundred seeds, or the seeds given as arguments, and stops at the first failure. */

const givenSeeds = [...process.argv.slice(2), ...(process.env.CHAOS_SEED ? [process.env.CHAOS_SEED] : [])];
const seeds =
  givenSeeds.length > 0 ? givenSeeds.map(Number) : Array.from({ length: 100 }, (_, index) => index + 1);
if (!seeds.every(Number.isSafeInteger)) throw new Error("Seeds must be integers, as in `make chaos ARGS=7`.");
// Exit handlers kill the round's processes.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

for (const [index, seed] of seeds.entries()) {
  const { problems, summary, folder } = await runRound(seed);
  console.log(
    `${index + 1}/${seeds.length} seed ${seed}: ${problems.length > 0 ? "FAILED" : "passed"}; ${summary}`,
  );
  if (problems.length === 0) continue;
  for (const problem of problems) console.log(`  ${problem}`);
  console.log(`  Logs and data are in ${folder}. Repeat the plan with CHAOS_SEED=${seed} make chaos.`);
  process.exit(1);
}
