import { randomUUID } from "node:crypto";
import type { ClaimRequest, ClaimResponse } from "@outrider/contract/worker";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { Claimer } from "../../src/engine/dispatch/claimer.ts";
import { WaitingClaims } from "../../src/engine/dispatch/waiting-claims.ts";
import { WakeUps } from "../../src/engine/dispatch/wake-ups.ts";
import { openPubSub, topics } from "../../src/engine/live/pubsub.ts";
import { openServerChannel } from "../../src/engine/live/server-channel.ts";
import { Counters } from "../../src/engine/operations/counters.ts";
import { openMaintenance } from "../../src/engine/operations/maintenance.ts";
import { createRun } from "../../src/engine/runs/runs.ts";
import { type Db, openDb } from "../../src/store/connection/db.ts";
import { newWorker, type TestEngine, testEngine } from "../engine.ts";
import { recordStatements } from "./record-statements.ts";

let stack: AsyncDisposableStack;
let engine: TestEngine;
let claims: Db;
let waitingClaims: WaitingClaims;
let claimer: Claimer;
let credentialId: string;
/** Notifies the claimer that there may be work. */
let notify: () => void;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  engine = await testEngine();
  stack.defer(() => engine.stop());
  const { db, url } = engine;
  const log = pino({ level: "silent" });
  const counters = new Counters();
  claims = openDb(url, { connections: 1 });
  stack.defer(() => claims.end());
  const channel = await openServerChannel({ db, open: () => openDb(url, { connections: 1 }), counters, log });
  stack.defer(() => channel.close());
  const pubsub = openPubSub(channel);
  stack.defer(() => pubsub.close());
  const maintenance = await openMaintenance({ db, pubsub, counters, log });
  stack.defer(() => maintenance.stop());
  waitingClaims = new WaitingClaims();
  const wakeUps = new WakeUps({ channel, pubsub });
  stack.defer(() => wakeUps.close());
  claimer = new Claimer({
    ...{ ...engine, claims, waitingClaims, gitHost: "", wakeUps, pubsub, maintenance },
  });
  credentialId = (await engine.key({ name: "w", type: "worker" })).credentialId;
  notify = () => pubsub.publish(topics.queueOf("default"));
});
afterEach(() => stack.disposeAsync());

/** Starts a claim that waits. It ends at the latest with the test. */
function wait(request: Partial<ClaimRequest> = {}): Promise<ClaimResponse> {
  const ended = new AbortController();
  const claim = claimer.claim({
    request: { request_id: randomUUID(), worker: newWorker(), free: 1, wait_ms: 15_000, ...request },
    credentialId,
    signal: ended.signal,
    onClaimed() {},
  });
  stack.defer(async () => {
    ended.abort();
    await claim;
  });
  return claim;
}

/** Creates runs that become visible at the same time. */
async function createRuns(count: number) {
  const origin = { principal: engine.admin, source: "API" as const, traceId: "test" };
  await engine.tx(async (tx) => {
    for (let left = count; left > 0; left--) await createRun(tx, engine, origin, { prompt: "SAY: hello" });
  });
}

const countWorkers = async () => (await engine.db`select from workers`).count;
const untilRecorded = (workers: number) =>
  vi.waitFor(async () => expect(await countWorkers()).toBe(workers), waitOptions);
const isClaim = (text: string) => text.includes("outrider_claim_batch");

test("a request that is open twice gets the same run, once", async () => {
  const request = { request_id: randomUUID(), worker: newWorker() };
  const both = [wait(request), wait(request)];
  await untilRecorded(1);
  await createRuns(2);
  notify();
  const [first, second] = await Promise.all(both);
  expect(first?.executions).toMatchObject([{ attempt: 1 }]);
  expect(second).toEqual(first);
  expect(await engine.db`select from executions`).toHaveLength(1);
});

test("a claim whose worker is gone gets no run", async () => {
  await engine.create();
  const { executions } = await claimer.claim({
    request: { request_id: randomUUID(), worker: newWorker(), free: 1, wait_ms: 0 },
    credentialId,
    signal: AbortSignal.abort(),
    onClaimed() {},
  });
  expect(executions).toEqual([]);
  expect(await engine.claim()).toHaveLength(1);
});

test("a claim that a creation of a run has taken gets no other run", async () => {
  const first = wait();
  const taken = await vi.waitUntil(() => waitingClaims.take(), waitOptions);
  await createRuns(2);
  notify();
  expect((await wait()).executions).toHaveLength(1);
  expect(await engine.db`select from executions`).toHaveLength(1);
  // The creation fails, so the claim is free again.
  taken.settle([]);
  expect((await first).executions).toHaveLength(1);
});

test("all of many waiting claims get a run, in few statements", async () => {
  const waiting = Array.from({ length: 150 }, () => wait());
  await untilRecorded(150);
  await using statements = recordStatements(claims);
  await createRuns(150);
  notify();
  const claimed = (await Promise.all(waiting)).map(({ executions }) =>
    executions.map(({ run_id }) => run_id),
  );
  expect(claimed.map(({ length }) => length)).toEqual(Array(150).fill(1));
  expect(new Set(claimed.flat()).size).toBe(150);
  expect(statements.texts.filter(isClaim).length).toBeLessThanOrEqual(4);
});

test("the one of many waiting claims that can take a run gets it, in few statements", async () => {
  for (let count = 0; count < 300; count++) void wait();
  const matching = wait({ worker: { ...newWorker(), pool: "default", labels: { region: "eu" } } });
  await untilRecorded(301);
  await using statements = recordStatements(claims);
  const runId = await engine.create({ config: { worker_selector: { region: "eu" } } });
  notify();
  expect((await matching).executions).toMatchObject([{ run_id: runId }]);
  expect(statements.texts.filter(isClaim).length).toBeLessThanOrEqual(2);
});

test("runs that no worker can take cost one statement each time the server looks for work", async () => {
  for (let count = 0; count < 40; count++) void wait();
  await untilRecorded(40);
  await engine.create({ config: { worker_selector: { region: "eu" } } });
  await using looks = recordStatements(engine.db);
  await using statements = recordStatements(claims);
  const countLooks = () => looks.texts.filter((text) => text.includes("has_runs")).length;
  for (let look = 1; look <= 5; look++) {
    const before = countLooks();
    notify();
    await vi.waitUntil(() => countLooks() > before, waitOptions);
  }
  // The first look does not know yet that no worker can take the run.
  expect(statements.texts.filter(isClaim).length).toBeLessThanOrEqual(countLooks() + 1);
  const matching = wait({ worker: { ...newWorker(), pool: "default", labels: { region: "eu" } } });
  expect((await matching).executions).toHaveLength(1);
});

test("new claims share a statement while many workers of their place are idle, and others do not wait", async () => {
  for (let count = 0; count < 100; count++) void wait();
  await untilRecorded(100);
  await using statements = recordStatements(claims);
  for (let count = 0; count < 20; count++) {
    void wait();
    // Statements on this connection are executed in order, so a claim that started at once would be over.
    await claims`select 1`;
  }
  await untilRecorded(120);
  expect(statements.texts.filter(isClaim).length).toBeLessThan(10);
  // No worker in its pool is idle.
  const runId = await engine.create({ config: { worker_host: "gpu" } });
  const { executions } = await wait({ worker: { ...newWorker(), pool: "gpu" } });
  expect(executions).toMatchObject([{ run_id: runId }]);
});
