import { execFile } from "node:child_process";
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { type BenchResult, compare, interleave, type Sample } from "../support/compare.ts";
import { type Outrider, startOutrider } from "../support/start-outrider.ts";
import { startWorkerProcess } from "../support/start-worker.ts";

/**
 * Measures whole runs with one command, from the call that creates the run to the end of its event stream, with a real
 * server, worker and sandbox and the scripted model. The baseline is the same command in one plain bubblewrap. So the ratio
 * shows what everything around the command costs: queue, lease, log, isolation, comparison of files. `run:one` measures one
 * run at a time, and `run:eight` how many finish per second with eight at a time. docs/decisions/run-cost.md says where the
 * time goes.
 */

const COMMAND = "echo done";
const CONCURRENT = 8;
const WARM_UPS = 10;
const TURNS = 3;
const PER_TURN = 5;
const PER_ROUND = 48;
/** How many times as long as its command in a plain bubblewrap a run may take: alone, and with eight at a time. */
const MAX_FACTOR_OF_ONE = 10;
const MAX_FACTOR_OF_EIGHT = 12;

const run = promisify(execFile);
const agent = new Agent({ keepAlive: true });

export async function benchRuns(only?: string): Promise<BenchResult[]> {
  await using outrider = await startOutrider();
  await using stack = new AsyncDisposableStack();
  stack.use(await startWorkerProcess(outrider, CONCURRENT));
  stack.defer(() => agent.destroy());
  await repeat(WARM_UPS, () => executeRun(outrider));
  const results: BenchResult[] = [];
  if (!only || only === "one") {
    results.push(
      await compare({
        ...{ name: "a run with one command", limit: 1 / MAX_FACTOR_OF_ONE },
        ...interleave({
          ...{ turns: TURNS, quantile: 0.5 },
          subject: () => repeat(PER_TURN, () => executeRun(outrider)),
          baseline: () => repeat(PER_TURN, executePlain),
        }),
      }),
    );
  }
  if (!only || only === "eight") {
    results.push(
      await compare({
        ...{ name: "eight runs at a time", limit: 1 / MAX_FACTOR_OF_EIGHT },
        subject: () => rateOfConcurrent(() => executeRun(outrider)),
        baseline: () => rateOfConcurrent(executePlain),
      }),
    );
  }
  return results;
}

/** Returns how long each call took, in milliseconds. */
async function repeat(count: number, execute: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const startedAt = performance.now();
    await execute();
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function rateOfConcurrent(execute: () => Promise<void>): Promise<Sample> {
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: CONCURRENT }, () => repeat(PER_ROUND / CONCURRENT, execute)));
  return { perSecond: (PER_ROUND * 1_000) / (performance.now() - startedAt) };
}

async function executeRun(outrider: Outrider): Promise<void> {
  const created = await call(outrider, "POST", "/agent/run", { prompt: `RUN: ${COMMAND}` });
  const { run_id } = JSON.parse(created) as { run_id: string };
  const events = await call(outrider, "GET", `/agent/runs/${run_id}/events`);
  if (!events.includes("run.succeeded")) throw new Error(`The run did not succeed:\n${events}`);
}

/** Uses a minimal HTTP client, because its cost reduces what is left for the service. The events are streamed to their end. */
function call({ origin, key }: Outrider, method: string, path: string, body?: object): Promise<string> {
  const accept = body ? "application/json" : "text/event-stream";
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", accept };
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}/api/v1${path}`, { method, agent, headers }, async (reply) => {
      const answer = await text(reply);
      if (reply.statusCode === 200) resolve(answer);
      else reject(new Error(`${method} ${path} returned ${reply.statusCode}: ${answer}`));
    });
    sent.on("error", reject).end(body && JSON.stringify(body));
  });
}

async function executePlain(): Promise<void> {
  const isolation = ["--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr"];
  const links = ["bin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]);
  const files = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/workspace", "--chdir", "/workspace"];
  const { stdout } = await run("bwrap", [...isolation, ...links, ...files, "/bin/bash", "-c", COMMAND]);
  if (stdout !== "done\n") throw new Error(`Unexpected output: ${stdout}`);
}
