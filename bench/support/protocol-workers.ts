import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { zeroUsage } from "@outrider/contract/run";
import type { Assignment, ClaimResponse } from "@outrider/contract/worker";
import { answerParent } from "./child-process.ts";

/*
 * Workers that speak the worker protocol without doing any work. Each does what a real one does: it keeps a stream of signals
 * open, repeats a claim that waits for 20 seconds, and sends a heartbeat every five seconds. It holds each run that it
 * gets for some time and then finishes it.
 */

const CLAIM_WAIT_MS = 20_000;
const HEARTBEAT_MS = 5_000;
const RETRY_MS = 100;
const SLOTS = 4;
/** The number of workers that start at the same time. A thousand connections at once exceed the listen backlog. */
const START_TOGETHER = 16;

export interface StartWorkers {
  /** The workers are distributed evenly. */
  origins: string[];
  keys: string[];
  workers: number;
  /** How long a worker holds a run. */
  holdMs?: number;
}

interface Connection {
  origin: string;
  key: string;
}

const agent = new Agent({ keepAlive: true });

/** Resolves when all workers have sent each of their requests once. They work until the process ends. */
answerParent(async ({ origins, keys, workers, holdMs = 0 }: StartWorkers) => {
  let next = 0;
  const start = async () => {
    for (let index = next++; index < workers; index = next++) {
      const origin = origins[index % origins.length] as string;
      const key = keys[index % keys.length] as string;
      await startWorker({ origin, key }, holdMs);
    }
  };
  await Promise.all(Array.from({ length: START_TOGETHER }, start));
  return workers;
});

async function startWorker(to: Connection, holdMs: number): Promise<void> {
  const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: SLOTS };
  const held = new Map<string, { run_id: string; ended: Promise<void> }>();
  const hold = async ({ run_id, execution_id }: Assignment) => {
    await sleep(holdMs);
    const outcome = { type: "succeeded", text: "" };
    const end = { run_id, batch: 1, events: [], usage: zeroUsage, outcome };
    await call(to, `/executions/${execution_id}/finish`, end);
    held.delete(execution_id);
  };
  const claim = async (waitMs: number) => {
    if (held.size === SLOTS) await Promise.race([...held.values()].map(({ ended }) => ended));
    const request = { request_id: randomUUID(), worker, free: SLOTS - held.size, wait_ms: waitMs };
    const { executions } = await call<ClaimResponse>(to, "/claim", request);
    for (const execution of executions)
      held.set(execution.execution_id, { run_id: execution.run_id, ended: hold(execution) });
  };
  await claim(0);
  const signals = openSignals(to, worker.worker_id);
  // The first claim ends earlier, so that the workers do not repeat their claims at the same time.
  void claim(Math.round(Math.random() * CLAIM_WAIT_MS)).then(() => repeat(() => claim(CLAIM_WAIT_MS), 0));
  const beat = () => {
    const executions = [...held].map(([execution_id, { run_id }]) => ({ run_id, execution_id }));
    return call(to, "/heartbeat", { worker, executions });
  };
  repeat(beat, HEARTBEAT_MS);
  await signals;
}

function repeat(work: () => Promise<unknown>, everyMs: number) {
  const next = async () => {
    const startedAt = performance.now();
    await work();
    setTimeout(next, Math.max(0, everyMs - (performance.now() - startedAt)));
  };
  setTimeout(next, Math.random() * everyMs);
}

function openSignals({ origin, key }: Connection, workerId: string): Promise<void> {
  const url = `${origin}/api/v1/worker/signals?worker_id=${workerId}`;
  const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: new Agent(), headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`signals returned ${response.statusCode}`));
      response.once("data", () => resolve());
      response.once("close", () => fail(new Error("A stream of signals ended.")));
    });
    sent.on("error", reject);
    sent.end();
  });
}

function call<T>({ origin, key }: Connection, path: string, body: object): Promise<T> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return new Promise((resolve) => {
    const retry = () => setTimeout(() => void call<T>({ origin, key }, path, body).then(resolve), RETRY_MS);
    const sent = request(
      `${origin}/api/v1/worker${path}`,
      { method: "POST", agent, headers },
      async (reply) => {
        const answer = await text(reply);
        // On a busy machine, a server may fail to connect to the database in time.
        if (reply.statusCode === 503) return void retry();
        if (reply.statusCode !== 200) fail(new Error(`${path} returned ${reply.statusCode}: ${answer}`));
        resolve(JSON.parse(answer));
      },
    );
    // The server may have closed the connection while it was idle. A real worker repeats the request as well.
    sent.on("error", retry);
    sent.end(JSON.stringify(body));
  });
}

/** A worker that fails would lower the number of statements. */
function fail(error: Error) {
  console.error(error);
  process.exit(1);
}
