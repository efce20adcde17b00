import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { interruption } from "../support/child-process.ts";
import { type BenchResult, compare, rateOf, type Sample } from "../support/compare.ts";

const CALLS = 4;
/** At most twice the time, which is half the rate. */
const LIMIT = 0.5;

const root = join(import.meta.dirname, "../..");
const node = join(root, ".tools/node_modules/.bin/node");
const outrider = join(root, "bin/outrider");

/** Compares the startup time of the command line to that of an empty Node program. */
export async function benchCli(part?: string): Promise<BenchResult[]> {
  if (part !== undefined && part !== "help") return [];
  // The first call fills the compile cache, as it does for users.
  await time(outrider, ["--help"]);
  const help = await compare({
    name: "outrider --help",
    limit: LIMIT,
    subject: () => times(outrider, ["--help"]),
    baseline: () => times(node, ["-e", "0"]),
  });
  return [help];
}

async function times(command: string, args: string[]): Promise<Sample> {
  const durations: number[] = [];
  for (let call = 0; call < CALLS; call++) durations.push(await time(command, args));
  return rateOf(durations, 0.5);
}

async function time(command: string, args: string[]): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(command, args, { stdio: "ignore", signal: interruption.signal });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} exited with code ${code}.`);
  return performance.now() - startedAt;
}
