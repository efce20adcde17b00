import { randomUUID } from "node:crypto";
import type { WorkerInfo } from "@outrider/contract/worker";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SignalReader } from "../../src/engine/dispatch/signals.ts";
import { openPubSub, type PubSub, topics } from "../../src/engine/live/pubsub.ts";
import { openServerChannel, type ServerChannel } from "../../src/engine/live/server-channel.ts";
import { Counters } from "../../src/engine/operations/counters.ts";
import { sendFollowup } from "../../src/engine/runs/followups.ts";
import { revokeKey } from "../../src/store/auth/keys.ts";
import { openDb } from "../../src/store/connection/db.ts";
import { drainWorker } from "../../src/store/dispatch/workers.ts";
import { insertFileRequest } from "../../src/store/file-requests.ts";
import { newWorker, type TestEngine, testEngine } from "../engine.ts";
import { recordStatements } from "./record-statements.ts";
import { claimWithNewWorker, registerWorker } from "./registered-worker.ts";

let engine: TestEngine;
let channel: ServerChannel;
let pubsub: PubSub;
let reader: SignalReader;
beforeAll(async () => {
  engine = await testEngine();
  const open = () => openDb(engine.url, { connections: 1 });
  channel = await openServerChannel({
    db: engine.db,
    open,
    counters: new Counters(),
    log: pino({ level: "silent" }),
  });
  pubsub = openPubSub(channel);
  reader = new SignalReader({ db: engine.db, pubsub });
});
afterAll(async () => {
  reader.close();
  pubsub.close();
  await channel.close();
  await engine.stop();
});
afterEach(async () => {
  await engine.db`delete from file_requests`;
  await engine.db`delete from runs`;
});

const forever = new AbortController().signal;
const watch = (worker: WorkerInfo, credentialId = engine.admin.credentialId) =>
  reader.watch(worker.worker_id, credentialId);

const registered = () => registerWorker(engine);
const claimed = () => claimWithNewWorker(engine);

const request = (runId: string, preferredWorkerId: string | null) => ({
  ...{ request_id: randomUUID(), run_id: runId, kind: "list" as const, path: "", source: "sandbox" as const },
  ...{ requestedBy: engine.admin.userUid, preferredWorkerId },
});

describe("signals", () => {
  test("of all workers are read in one statement", async () => {
    const workers = await Promise.all(Array.from({ length: 20 }, registered));
    const watched = workers.map((worker) => watch(worker));
    await using statements = recordStatements(engine.db);
    const first = await Promise.all(watched.map((one) => one.next(forever)));
    expect(statements.texts).toHaveLength(1);
    const nothing = { signals: { executions: [], draining: false }, isNotified: true };
    expect(first).toEqual(workers.map(() => nothing));
    // A poll reads all of them as well, although nobody was notified.
    const polled = await Promise.all(watched.map((one) => one.next(forever)));
    expect(statements.texts).toHaveLength(2);
    expect(polled).toEqual(workers.map(() => ({ ...nothing, isNotified: false })));
    for (const one of watched) one.close();
  });

  test("list what each worker must know", async () => {
    const [busy, asked, drained] = [await claimed(), await claimed(), await registered()];
    const gone = newWorker();
    const key = await engine.key({ name: "gone", type: "worker" });
    const message = { message: "and this", mode: "interrupt" as const };
    const { sent } = await engine.tx((tx) => sendFollowup(tx, engine.admin, asked.runId, message));
    await drainWorker(engine.db, drained.worker_id);
    const limits = { maxUnfinished: 10, waitMs: 60_000 };
    const [preferred, open] = [request(asked.runId, asked.worker.worker_id), request(busy.runId, null)];
    for (const one of [preferred, open]) await insertFileRequest(engine.db, one, limits);
    const unlisted = request(busy.runId, randomUUID());
    await insertFileRequest(engine.db, unlisted, limits);
    await revokeKey(engine.db, key.credentialId);
    const watched = [watch(busy.worker), watch(asked.worker), watch(drained), watch(gone)];
    const revoked = watch(busy.worker, key.credentialId);
    const readings = await Promise.all([...watched, revoked].map((one) => one.next(forever)));
    const openRequest = { request_id: open.request_id, run_id: busy.runId, source: "snapshot" };
    const ownRequest = { request_id: preferred.request_id, run_id: asked.runId, source: "sandbox" };
    const executionOf = ({ executionId }: { executionId: string }, interrupts: string[] = []) => [
      { execution_id: executionId, waiting: interrupts.length > 0, interrupts },
    ];
    expect(readings.map((reading) => reading?.signals)).toEqual([
      { executions: executionOf(busy), draining: false, file_requests: [openRequest] },
      {
        executions: executionOf(asked, [sent.followup_id]),
        draining: false,
        file_requests: [ownRequest, openRequest],
      },
      { executions: [], draining: true, file_requests: [openRequest] },
      // A worker that is not registered takes no requests.
      { executions: [], draining: false },
      undefined,
    ]);
    for (const one of [...watched, revoked]) one.close();
  });

  test("of a notified worker are marked, so that they are sent even if they look unchanged", async () => {
    const { worker, executionId } = await claimed();
    const one = watch(worker);
    await one.next(forever);
    const current = {
      executions: [{ execution_id: executionId, waiting: false, interrupts: [] }],
      draining: false,
    };
    for (let count = 0; count < 2; count++) {
      pubsub.publish(topics.worker(worker.worker_id));
      expect(await one.next(forever)).toEqual({ signals: current, isNotified: true });
    }
    const during = one.next(forever);
    pubsub.publish(topics.worker(worker.worker_id));
    await during;
    expect(await one.next(forever)).toEqual({ signals: current, isNotified: false });
    one.close();
  });

  test("end when the stream ends or the database rejects the statement", async () => {
    const one = watch(await registered());
    const end = new AbortController();
    const aborted = one.next(end.signal);
    end.abort();
    expect(await aborted).toBeUndefined();
    const broken = reader.watch("not a UUID", engine.admin.credentialId);
    await expect(broken.next(forever)).rejects.toThrow();
    broken.close();
    expect(await one.next(forever)).toMatchObject({ signals: { executions: [] } });
    one.close();
  });
});
