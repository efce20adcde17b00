import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { Signals } from "@outrider/contract/worker";
import { connectToServer } from "../../packages/worker/src/server-client/server-client.ts";
import { type BenchResult, checkLimit } from "../support/compare.ts";
import { createWorkerKey, type Outrider, post, startOutrider } from "../support/start-outrider.ts";
import { startWorkerProcess } from "../support/start-worker.ts";
import { waitUntil } from "../support/wait-until.ts";

/**
 * Measures how long after the response to a cancel its worker is notified, and how long until all processes of the run
 * are gone. There is no baseline: the limits are what a user perceives as immediate.
 */

const SAMPLES = 20;
const MAX_MS = { notified: 50, stopped: 250 };

export async function benchCancelLatency(only?: string): Promise<BenchResult[]> {
  await using outrider = await startOutrider();
  const parts = { notified: measureNotification, stopped: measureStop };
  const results: BenchResult[] = [];
  for (const name of ["notified", "stopped"] as const) {
    if (only && only !== name) continue;
    const measured = await parts[name](outrider);
    results.push(checkLimit({ name: `cancel, ${name}`, measured, max: MAX_MS[name], unit: "ms" }));
  }
  return results;
}

async function cancel(outrider: Outrider, runId: string): Promise<number> {
  await post(outrider, `/agent/runs/${runId}/cancel`, {});
  return performance.now();
}

async function measureNotification(outrider: Outrider): Promise<number[]> {
  const stopping = new AbortController();
  const server = connectToServer({ url: outrider.origin, key: await createWorkerKey(outrider) });
  const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };
  let executionIds = new Set<string>();
  let notifiedAt = 0;
  const onSignals = ({ executions }: Signals) => {
    notifiedAt = performance.now();
    executionIds = new Set(executions.map(({ execution_id }) => execution_id));
  };
  const listening = server.signals(worker.worker_id, onSignals, stopping.signal);
  const times: number[] = [];
  while (times.length < SAMPLES) {
    const { run_id } = await post<{ run_id: string }>(outrider, "/agent/run", { prompt: "SAY: nothing" });
    const request = { request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 };
    const [taken] = (await server.claim(request, stopping.signal)).executions;
    const id = taken?.execution_id as string;
    await waitUntil("the worker to be notified of its run", () => executionIds.has(id));
    const answered = await cancel(outrider, run_id);
    await waitUntil("the worker to be notified of the cancel", () => !executionIds.has(id), 1);
    times.push(Math.max(notifiedAt - answered, 0.01));
  }
  stopping.abort();
  await listening;
  server.stop();
  return times;
}

async function measureStop(outrider: Outrider): Promise<number[]> {
  await using _worker = await startWorkerProcess(outrider, 1);
  const times: number[] = [];
  while (times.length < SAMPLES) {
    // A duration that no other process on this machine uses.
    const seconds = `${100_000 + Math.floor(Math.random() * 900_000)}.${process.pid}`;
    const prompt = `RUN: sleep ${seconds}`;
    const { run_id } = await post<{ run_id: string }>(outrider, "/agent/run", { prompt });
    await waitUntil("the command to run", () => findSleepers(seconds).length > 0);
    const answered = await cancel(outrider, run_id);
    await waitUntil("the command to be gone", () => findSleepers(seconds).length === 0, 1);
    times.push(performance.now() - answered);
  }
  return times;
}

/** Returns the processes with this duration on their command line, including the shell. */
function findSleepers(seconds: string): string[] {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(seconds);
    } catch {
      return false; // The process has exited.
    }
  });
}
