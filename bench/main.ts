import { availableParallelism, cpus, loadavg } from "node:os";
import { canRunEngines } from "../packages/worker/test/docker/test-engine.ts";
import { canRunClusters, hasClusterPrograms } from "../packages/worker/test/kubernetes/test-cluster.ts";
import { benchBuilds } from "./builds/builds.ts";
import { benchCalls } from "./calls/calls.ts";
import { benchClaims } from "./claims/claims.ts";
import { benchDocker } from "./docker/docker.ts";
import { benchGateway } from "./gateway/gateway.ts";
import { benchIdle } from "./idle/idle.ts";
import { benchKubernetes } from "./kubernetes/kubernetes.ts";
import { benchLists } from "./lists/lists.ts";
import { benchRedaction } from "./redaction/redaction.ts";
import { benchCancelLatency } from "./runs/cancel-latency.ts";
import { benchClaimLatency } from "./runs/claim-latency.ts";
import { benchMemory } from "./runs/memory.ts";
import { benchThroughput } from "./runs/throughput.ts";
import { benchScale } from "./scale/scale.ts";
import { benchSearch } from "./search/search.ts";
import { benchCli } from "./startup/cli.ts";
import { benchCommand } from "./startup/command.ts";
import { benchSandbox } from "./startup/sandbox.ts";
import { benchResume } from "./steps/resume.ts";
import { benchSteps } from "./steps/steps.ts";
import { benchEventLatency } from "./streams/event-latency.ts";
import { interruption } from "./support/child-process.ts";
import { type BenchResult, passes, printResults } from "./support/compare.ts";
import { benchRuns } from "./turns/runs.ts";
import { benchStore } from "./turns/store.ts";
import { benchUsage } from "./usage/usage.ts";

/** The benchmarks by name. `make bench ARGS=…` selects some: `calls` is a benchmark, `calls:create` a part of it. */
const benches: Record<string, (part?: string) => Promise<BenchResult[]>> = {
  // The sandbox comes first, because it has the thinnest margin and needs a quiet machine.
  sandbox: benchSandbox,
  command: benchCommand,
  docker: benchDocker,
  kubernetes: benchKubernetes,
  store: benchStore,
  run: benchRuns,
  calls: benchCalls,
  claim: benchClaimLatency,
  claims: benchClaims,
  idle: benchIdle,
  scale: benchScale,
  runs: benchThroughput,
  events: benchEventLatency,
  cancel: benchCancelLatency,
  memory: benchMemory,
  steps: benchSteps,
  resume: benchResume,
  gateway: benchGateway,
  cli: benchCli,
  lists: benchLists,
  redaction: benchRedaction,
  builds: benchBuilds,
  search: benchSearch,
  usage: benchUsage,
};

/** Benchmarks that do not run everywhere. Building the programs of a cluster takes too long for this. */
const conditions: Record<string, () => boolean> = {
  docker: () => canRunEngines,
  kubernetes: () => canRunClusters && hasClusterPrograms(),
};
const possible = Object.keys(benches).filter((name) => conditions[name]?.() ?? true);
const chosen = process.argv.length > 2 ? process.argv.slice(2) : possible;
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interruption.abort());

const load = (loadavg()[0] as number).toFixed(2);
console.log(
  `${availableParallelism()} cores (${cpus()[0]?.model}), load ${load} at start, Node ${process.version}`,
);
const results: BenchResult[] = [];
try {
  for (const choice of chosen) {
    const [name = "", part] = choice.split(":");
    const found = (await benches[name]?.(part)) ?? [];
    if (found.length === 0) throw new Error(`Benchmark ${choice} not found.`);
    results.push(...found);
  }
} catch (error) {
  console.error(interruption.signal.aborted ? "Interrupted." : error);
  process.exit(1);
}
console.log();
printResults(results);
process.exitCode = results.every(passes) ? 0 : 1;
