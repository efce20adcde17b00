import { availableParallelism, cpus, loadavg } from "node:os";
import { benchCalls } from "./calls.ts";
import { benchCancel } from "./cancel.ts";
import { interruption } from "./child.ts";
import { benchCli } from "./cli.ts";
import { benchLists } from "./lists.ts";
import { benchMemory } from "./memory.ts";
import { benchQueue } from "./queue.ts";
import { benchResume } from "./resume.ts";
import { keeps, printVerdicts, type Verdict } from "./rounds.ts";
import { benchRuns } from "./runs.ts";
import { benchSandbox } from "./sandbox.ts";
import { benchSteps } from "./steps.ts";
import { benchWatch } from "./watch.ts";

/** Each promise about speed. `make bench ARGS=…` chooses: `calls` is a bench, `calls:create` a part of it. */
const benches: Record<string, (part?: string) => Promise<Verdict[]>> = {
  // First, before the others have made this process and the machine busy: it has the thinnest margin of all.
  sandbox: benchSandbox,
  calls: benchCalls,
  queue: benchQueue,
  runs: benchRuns,
  watch: benchWatch,
  cancel: benchCancel,
  memory: benchMemory,
  steps: benchSteps,
  resume: benchResume,
  cli: benchCli,
  lists: benchLists,
};

const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(benches);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interruption.abort());

const busy = (loadavg()[0] as number).toFixed(2);
console.log(
  `${availableParallelism()} cores (${cpus()[0]?.model}), load ${busy} at the start, Node ${process.version}`,
);
const verdicts: Verdict[] = [];
try {
  for (const choice of chosen) {
    const [name = "", part] = choice.split(":");
    const found = (await benches[name]?.(part)) ?? [];
    if (found.length === 0) throw new Error(`There is no bench ${choice}.`);
    verdicts.push(...found);
  }
} catch (error) {
  console.error(interruption.signal.aborted ? "Interrupted." : error);
  process.exit(1);
}
console.log();
printVerdicts(verdicts);
process.exitCode = verdicts.every(keeps) ? 0 : 1;
