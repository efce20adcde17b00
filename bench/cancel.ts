import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { Signals } from "@outrider/contract/worker";
import { connect } from "../packages/worker/src/server.ts";
import { createWorkerKey, type Outrider, post, startOutrider } from "./outrider.ts";
import { hold, type Verdict } from "./rounds.ts";
import { until } from "./until.ts";
import { startWorkerProcess } from "./worker.ts";

/**
 * How long after a cancel is answered its worker is told, and how long until nothing of the run is left that works. There
 * is nothing to hold this against: the limits are what a person still takes for "at once".
 */

const SAMPLES = 20;
const MOST_MS = { told: 50, gone: 250 };

export async function benchCancel(only?: string): Promise<Verdict[]> {
  await using outrider = await startOutrider();
  const parts = { told: untilTold, gone: untilGone };
  const verdicts: Verdict[] = [];
  for (const name of ["told", "gone"] as const) {
    if (only && only !== name) continue;
    const measured = await parts[name](outrider);
    verdicts.push(hold({ name: `cancel, ${name}`, measured, most: MOST_MS[name], unit: "ms" }));
  }
  return verdicts;
}

async function cancel(outrider: Outrider, runId: string): Promise<number> {
  await post(outrider, `/agent/runs/${runId}/cancel`, {});
  return performance.now();
}

async function untilTold(outrider: Outrider): Promise<number[]> {
  const stopping = new AbortController();
  const server = connect({ url: outrider.origin, key: await createWorkerKey(outrider) });
  const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };
  let holds = new Set<string>();
  let heardAt = 0;
  const hear = ({ executions }: Signals) => {
    heardAt = performance.now();
    holds = new Set(executions.map(({ execution_id }) => execution_id));
  };
  const listening = server.signals(worker.worker_id, hear, stopping.signal);
  const times: number[] = [];
  while (times.length < SAMPLES) {
    const { run_id } = await post<{ run_id: string }>(outrider, "/agent/run", { prompt: "SAY: nothing" });
    const request = { request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 };
    const [taken] = (await server.claim(request, stopping.signal)).executions;
    const id = taken?.execution_id as string;
    await until("the worker to be told of its run", () => holds.has(id));
    const answered = await cancel(outrider, run_id);
    await until("the worker to be told of the cancel", () => !holds.has(id), 1);
    times.push(Math.max(heardAt - answered, 0.01));
  }
  stopping.abort();
  await listening;
  server.stop();
  return times;
}

async function untilGone(outrider: Outrider): Promise<number[]> {
  await using _worker = await startWorkerProcess(outrider, 1);
  const times: number[] = [];
  while (times.length < SAMPLES) {
    // Nobody else on this machine sleeps just so long.
    const seconds = `${100_000 + Math.floor(Math.random() * 900_000)}.${process.pid}`;
    const prompt = `RUN: sleep ${seconds}`;
    const { run_id } = await post<{ run_id: string }>(outrider, "/agent/run", { prompt });
    await until("the command to run", () => sleeps(seconds).length > 0);
    const answered = await cancel(outrider, run_id);
    await until("the command to be gone", () => sleeps(seconds).length === 0, 1);
    times.push(performance.now() - answered);
  }
  return times;
}

/** Processes that were told to sleep so long, the shell that started them among them. */
function sleeps(seconds: string): string[] {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(seconds);
    } catch {
      return false; // It has ended meanwhile.
    }
  });
}
