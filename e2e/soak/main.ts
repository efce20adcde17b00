import { formatTable } from "./growth.ts";
import { soak } from "./soak.ts";

/** `make soak`: runs for five minutes, or for the given number of minutes. Exits with 1 if an invariant is violated. */

const MAX_PRINTED_PROBLEMS = 30;
const minutes = Number(process.argv[2] ?? 5);
if (!(minutes > 0)) throw new Error("Pass a positive number of minutes, as in `make soak ARGS=5`.");
// Exit handlers kill the round's processes.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

console.log(`Running two servers, two workers and a replicated PostgreSQL for ${minutes} minutes.`);
const { problems, comparisons, summary, folder } = await soak(minutes * 60_000);
for (const line of summary) console.log(`  ${line}`);
console.log(formatTable(comparisons));
for (const problem of problems.slice(0, MAX_PRINTED_PROBLEMS)) console.log(`FAILED: ${problem}`);
if (problems.length > MAX_PRINTED_PROBLEMS)
  console.log(`FAILED: ${problems.length - MAX_PRINTED_PROBLEMS} more.`);
console.log(problems.length > 0 ? `Logs and data are in ${folder}.` : "All invariants hold.");
process.exitCode = problems.length > 0 ? 1 : 0;
