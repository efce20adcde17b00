import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { answerParent } from "../support/child-process.ts";

/*
 * Workers that have nothing to do. Each does what a real one does: it keeps a stream of signals open, repeats a claim that
 * waits for 20 seconds, and sends a heartbeat every five seconds.
 */

const CLAIM_WAIT_MS = 20_000;
const HEARTBEAT_MS = 5_000;
const RETRY_MS = 100;
/** Workers start one after another, because a thousand connections at once exceed the listen backlog. */
const START_EVERY_MS = 10;

export interface IdleQuestion {
  origin: string;
  keys: string[];
  workers: number;
}

const agent = new Agent({ keepAlive: true });

answerParent(async ({ origin, keys, workers }: IdleQuestion) => {
  const started: Promise<unknown>[] = [];
  for (let index = 0; index < workers; index++) {
    started.push(startWorker(origin, keys[index % keys.length] as string));
    await sleep(START_EVERY_MS);
  }
  await Promise.all(started);
  return workers;
});

/** Resolves when the worker has sent each of its requests once. */
async function startWorker(origin: string, key: string): Promise<void> {
  const worker = { worker_id: randomUUID(), name: "idle", version: "0", slots: 4 };
  const claim = (waitMs: number) =>
    call(origin, key, "/claim", { request_id: randomUUID(), worker, free: 4, wait_ms: waitMs });
  await claim(0);
  const signals = openSignals(origin, key, worker.worker_id);
  repeat(() => claim(CLAIM_WAIT_MS), 0);
  repeat(() => call(origin, key, "/heartbeat", { worker, executions: [] }), HEARTBEAT_MS);
  await signals;
}

function repeat(work: () => Promise<void>, everyMs: number) {
  const next = async () => {
    const startedAt = performance.now();
    await work();
    setTimeout(next, Math.max(0, everyMs - (performance.now() - startedAt)));
  };
  setTimeout(next, Math.random() * everyMs);
}

function openSignals(origin: string, key: string, workerId: string): Promise<void> {
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

function call(origin: string, key: string, path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return new Promise((resolve) => {
    const sent = request(`${origin}/api/v1/worker${path}`, { method: "POST", agent, headers }, (response) => {
      response.resume();
      response.once("end", () =>
        response.statusCode === 200 ? resolve() : fail(new Error(`${path} returned ${response.statusCode}`)),
      );
    });
    // The server may have closed the connection while it was idle. A real worker repeats the request as well.
    sent.on("error", () => setTimeout(() => void call(origin, key, path, body).then(resolve), RETRY_MS));
    sent.end(JSON.stringify(body));
  });
}

/** A worker that fails would lower the number of statements. */
function fail(error: Error) {
  console.error(error);
  process.exit(1);
}
