import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { interruption } from "./child.ts";
import { compare, rateOf, type Sample, type Verdict } from "./rounds.ts";

const CALLS = 4;
/** Twice the time is half the rate. */
const LIMIT = 0.5;

const root = join(import.meta.dirname, "..");
const node = join(root, ".tools/node_modules/.bin/node");
const outrider = join(root, "bin/outrider");

/** How soon the command line answers, against a Node that does nothing. */
export async function benchCli(part?: string): Promise<Verdict[]> {
  if (part !== undefined && part !== "help") return [];
  // The first call fills the cache of compiled code, as it does for everybody else.
  await time(outrider, ["--help"]);
  const help = await compare({
    name: "outrider --help",
    limit: LIMIT,
    subject: () => times(outrider, ["--help"]),
    anchor: () => times(node, ["-e", "0"]),
  });
  return [help];
}

/** Five rounds of four calls make twenty. */
async function times(command: string, args: string[]): Promise<Sample> {
  const taken: number[] = [];
  for (let call = 0; call < CALLS; call++) taken.push(await time(command, args));
  return rateOf(taken, 0.5);
}

async function time(command: string, args: string[]): Promise<number> {
  const began = performance.now();
  const child = spawn(command, args, { stdio: "ignore", signal: interruption.signal });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}.`);
  return performance.now() - began;
}
