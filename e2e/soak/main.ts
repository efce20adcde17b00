import { table } from "./level.ts";
import { soak } from "./soak.ts";

/** `make soak`: five minutes, or as many as are named. Exits with 1 where a promise is broken. */

const SHOWN = 30;
const minutes = Number(process.argv[2] ?? 5);
if (!(minutes > 0)) throw new Error("Say how many minutes, as in `make soak ARGS=5`.");
// Leaving by exit takes the round's processes along.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

console.log(`Two servers, two workers and PostgreSQL with its standby for ${minutes} minutes.`);
const { problems, rows, story, folder } = await soak(minutes * 60_000);
for (const line of story) console.log(`  ${line}`);
console.log(table(rows));
for (const problem of problems.slice(0, SHOWN)) console.log(`BROKEN: ${problem}`);
if (problems.length > SHOWN) console.log(`BROKEN: ${problems.length - SHOWN} more.`);
console.log(problems.length > 0 ? `What it left is in ${folder}.` : "Every promise held.");
process.exitCode = problems.length > 0 ? 1 : 0;
