import { randomUUID } from "node:crypto";
import type { ClaimRequest, ClaimResponse } from "@outrider/contract/worker";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { Claimer } from "../../src/engine/dispatch/claimer.ts";
import { WaitingClaims } from "../../src/engine/dispatch/waiting-claims.ts";
import { WakeUps } from "../../src/engine/dispatch/wake-ups.ts";
import { openPubSub } from "../../src/engine/live/pubsub.ts";
import { openServerChannel } from "../../src/engine/live/server-channel.ts";
import { Counters } from "../../src/engine/operations/counters.ts";
import { openMaintenance } from "../../src/engine/operations/maintenance.ts";
import { openDb } from "../../src/store/connection/db.ts";
import { findWaitingRun, type WaitingRun } from "../../src/store/dispatch/requirements.ts";
import { newWorker, type TestEngine, testEngine } from "../engine.ts";
import { recordStatements } from "./record-statements.ts";

let stack: AsyncDisposableStack;
let engine: TestEngine;
let credentialId: string;
/** The content of all messages between servers. */
let messages: string[];

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  engine = await testEngine();
  stack.defer(() => engine.stop());
  credentialId = (await engine.key({ name: "w", type: "worker" })).credentialId;
  messages = [];
  await engine.db.listen("outrider", (message) => messages.push(message));
});
afterEach(() => stack.disposeAsync());

type Place = Pick<ClaimRequest, "takes_harnesses"> & Partial<ClaimRequest["worker"]>;

/** Starts the parts of a server that wake workers. */
async function openServer() {
  const log = pino({ level: "silent" });
  const counters = new Counters();
  const open = (connections: number) => {
    const db = openDb(engine.url, { connections });
    stack.defer(() => db.end());
    return db;
  };
  const db = open(2);
  const channel = await openServerChannel({
    ...{ db: open(1), counters, log },
    open: () => openDb(engine.url, { connections: 1 }),
  });
  stack.defer(() => channel.close());
  const pubsub = openPubSub(channel);
  stack.defer(() => pubsub.close());
  const wakeUps = new WakeUps({ channel, pubsub });
  stack.defer(() => wakeUps.close());
  const maintenance = await openMaintenance({ db: open(1), pubsub, counters, log });
  stack.defer(() => maintenance.stop());
  const claimer = new Claimer({
    ...{ ...engine, db, claims: db, waitingClaims: new WaitingClaims() },
    ...{ gitHost: "", wakeUps, pubsub, maintenance },
  });
  const announcements = () =>
    messages.filter((message) => message.startsWith(`${channel.serverId} idle\n{`)).length;
  return {
    ...{ db, channel, pubsub, wakeUps, announcements },
    /** Starts a claim that waits, until it is aborted or the test ends. */
    wait({ takes_harnesses, ...place }: Place = {}): { claim: Promise<ClaimResponse>; abort(): void } {
      const ended = new AbortController();
      const claim = claimer.claim({
        request: {
          ...{
            request_id: randomUUID(),
            worker: { ...newWorker(), slots: 1, ...place },
            free: 1,
            wait_ms: 15_000,
          },
          ...(takes_harnesses ? { takes_harnesses } : {}),
        },
        credentialId,
        signal: ended.signal,
        onClaimed() {},
      });
      stack.defer(async () => {
        ended.abort();
        await claim;
      });
      return { claim, abort: () => ended.abort() };
    },
    /** Creates a run without this server's waiting claims, and wakes a worker for it. */
    async create(config: object = {}): Promise<string> {
      const runId = await engine.create({ config });
      wakeUps.wake((await findWaitingRun(engine.db, runId)) as WaitingRun);
      return runId;
    },
  };
}
type Server = Awaited<ReturnType<typeof openServer>>;

/** Waits until servers have announced an idle worker, and others have received everything that was sent before. */
async function untilAnnounced(servers: Server[], announcing: Server[]) {
  for (const server of announcing) await vi.waitUntil(() => server.announcements() > 0, waitOptions);
  await untilReceived(servers);
}

/** PostgreSQL delivers notifications in the order of their commits. */
async function untilReceived(servers: Server[]) {
  const topic = randomUUID();
  const received = servers.map(
    (server) => new Promise<void>((resolve) => void server.pubsub.on(topic, resolve)),
  );
  const { channel } = await openServer();
  channel.send("topics", topic);
  await Promise.all(received);
}

const wakes = () => {
  const lines = messages.flatMap((message) => message.split("\n")).filter((line) => line.startsWith("wake "));
  return lines.map((line) => JSON.parse(line.slice("wake ".length))[0] as string | null);
};
const looksIn = (texts: string[]) => texts.filter((text) => text.includes("has_runs")).length;
/** The most looks that polls can have caused since a time. Each wake-up would cause another one. */
const pollsSince = (start: number) => 2 + Math.floor((performance.now() - start) / 800);

const eu = { labels: { region: "eu" } };
const us = { labels: { region: "us" } };

test("only a server with an idle worker that matches executes statements for a new run", async () => {
  const [creating, matching, other] = [await openServer(), await openServer(), await openServer()];
  // More than runs, so that one is idle even while others get a run.
  for (let count = 0; count < 25; count++) matching.wait(eu);
  other.wait(us);
  other.wait({ pool: "gpu", labels: eu.labels });
  await untilAnnounced([creating], [matching, other]);
  const start = performance.now();
  await using statements = recordStatements(other.db);
  const claimed = async () => (await engine.db`select from executions`).count;
  for (let runs = 1; runs <= 20; runs++) {
    await creating.create({ worker_selector: eu.labels });
    await vi.waitUntil(async () => (await claimed()) === runs, { ...waitOptions, interval: 1 });
  }
  await untilReceived([other]);
  expect(looksIn(statements.texts)).toBeLessThanOrEqual(pollsSince(start));
  expect(new Set(wakes())).toEqual(new Set([matching.channel.serverId]));
});

test("one of the servers with an idle worker is woken, each time another one", async () => {
  const [creating, first, second] = [await openServer(), await openServer(), await openServer()];
  // More than runs on each, because a server that polls may claim all of them.
  for (const server of [first, second]) for (let count = 0; count < 5; count++) server.wait(eu);
  await untilAnnounced([creating], [first, second]);
  for (let runs = 1; runs <= 4; runs++) {
    await creating.create({ worker_selector: eu.labels });
    await vi.waitUntil(() => wakes().length >= runs, waitOptions);
  }
  const [one, two] = wakes();
  expect(wakes()).toEqual([one, two, one, two]);
  expect(new Set([one, two])).toEqual(new Set([first.channel.serverId, second.channel.serverId]));
});

test("a server with an idle worker wakes no other", async () => {
  const [creating, other] = [await openServer(), await openServer()];
  const claims = [1, 2, 3].map(() => creating.wait(eu).claim);
  other.wait(eu);
  await untilAnnounced([creating, other], [creating, other]);
  const runId = await creating.create({ worker_selector: eu.labels });
  expect((await Promise.race(claims)).executions).toMatchObject([{ run_id: runId }]);
  await untilReceived([other]);
  expect(wakes()).toEqual([]);
});

test("a server that has no idle worker any longer wakes all others, and is not woken again", async () => {
  const [creating, busy, idle] = [await openServer(), await openServer(), await openServer()];
  const first = busy.wait(eu);
  await untilAnnounced([creating], [busy]);
  first.abort();
  await first.claim;
  // The creating server does not know this one, because its announcement is lost.
  idle.wakeUps.announce = () => () => {};
  const waiting = [idle.wait(eu), idle.wait(eu)];
  await creating.create({ worker_selector: eu.labels });
  await vi.waitUntil(() => wakes().length === 2, waitOptions);
  await untilReceived([creating]);
  await creating.create({ worker_selector: eu.labels });
  await vi.waitUntil(() => wakes().length === 3, waitOptions);
  expect(wakes()).toEqual([busy.channel.serverId, null, null]);
  for (const { claim } of waiting) expect((await claim).executions).toHaveLength(1);

  // It announces its next idle worker at once, although the last announcement is recent.
  const announced = busy.announcements();
  busy.wait(eu);
  await vi.waitUntil(() => busy.announcements() > announced, waitOptions);
});

test("all servers are woken for a run that no known worker can take, and look only if one of theirs can", async () => {
  const [creating, matching, other] = [await openServer(), await openServer(), await openServer()];
  other.wait();
  await untilAnnounced([creating], [other]);
  matching.wakeUps.announce = () => () => {};
  const takes_harnesses = true as const;
  for (let count = 0; count < 10; count++) matching.wait({ pool: "gpu", takes_harnesses });
  const start = performance.now();
  await using statements = recordStatements(other.db);
  for (let runs = 1; runs <= 10; runs++) {
    await creating.create({ worker_host: "gpu" });
    await vi.waitUntil(() => wakes().length >= runs, waitOptions);
  }
  await vi.waitUntil(async () => (await engine.db`select from executions`).count === 10, waitOptions);
  await untilReceived([other]);
  expect(wakes()).toEqual(Array(10).fill(null));
  expect(looksIn(statements.texts)).toBeLessThanOrEqual(pollsSince(start));
});

test("a run is claimed although the server that is woken for it is gone, and that server was the only one known", async () => {
  const [creating, gone, unknown] = [await openServer(), await openServer(), await openServer()];
  gone.wakeUps.announce({ worker: { ...newWorker(), ...eu } });
  await untilAnnounced([creating], [gone]);
  await gone.channel.close();
  unknown.wakeUps.announce = () => () => {};
  const { claim } = unknown.wait(eu);
  const runId = await creating.create({ worker_selector: eu.labels });
  expect((await claim).executions).toMatchObject([{ run_id: runId }]);
  await vi.waitUntil(() => wakes().length > 0, waitOptions);
  expect(wakes()).toEqual([gone.channel.serverId]);
});

test("a server that stops is not woken any longer", async () => {
  const [creating, stopped] = [await openServer(), await openServer()];
  stopped.wakeUps.announce({ worker: { ...newWorker(), ...eu } });
  await untilAnnounced([creating], [stopped]);
  stopped.wakeUps.close();
  await vi.waitUntil(() => messages.includes(`${stopped.channel.serverId} idle\n`), waitOptions);
  await untilReceived([creating]);
  await creating.create({ worker_selector: eu.labels });
  await vi.waitUntil(() => wakes().length > 0, waitOptions);
  expect(wakes()).toEqual([null]);
});

test("a run whose sandbox is warm wakes the server where that worker waits", async () => {
  const [creating, warm, other] = [await openServer(), await openServer(), await openServer()];
  const worker = newWorker();
  const { claim } = warm.wait(worker);
  for (let count = 0; count < 3; count++) other.wait();
  await untilAnnounced([creating], [warm, other]);
  const run = await engine.create();
  await engine.db`
    update run_state set warm_worker_id = ${worker.worker_id}, warm_until = now() + interval '1 hour' where run_id = ${run}`;
  const waiting = (await findWaitingRun(engine.db, run)) as WaitingRun;
  expect(waiting.workerId).toBe(worker.worker_id);
  const start = performance.now();
  await using statements = recordStatements(other.db);
  for (let count = 1; count <= 10; count++) {
    creating.wakeUps.wake(waiting);
    await vi.waitUntil(() => wakes().length === count, { ...waitOptions, interval: 1 });
  }
  expect((await claim).executions).toMatchObject([{ run_id: run }]);
  await untilReceived([other]);
  expect(looksIn(statements.texts)).toBeLessThanOrEqual(pollsSince(start));
});

test("a server of the previous version wakes all servers whose workers wait", async () => {
  const [old, server] = [await openServer(), await openServer()];
  server.wait({ pool: "gpu" });
  await untilAnnounced([old], [server]);
  const start = performance.now();
  await using statements = recordStatements(server.db);
  const isWoken = () => {
    old.pubsub.publish("queue gpu");
    return looksIn(statements.texts) > pollsSince(start) + 5;
  };
  expect(await vi.waitUntil(isWoken, waitOptions)).toBe(true);
});
