import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Db } from "../../store/connection/db.ts";
import { subscribe } from "../../store/connection/subscribe.ts";
import type { Counters } from "../operations/counters.ts";

/*
 * Publish/subscribe between an installation's servers, based on PostgreSQL's LISTEN and NOTIFY.
 *
 * Messages are topic names without content. A message means that something about the topic has changed; the listener
 * reads the database to find out what.
 *
 * Protocol:
 * 1. `publish` immediately calls the listeners on this server, then adds the topic to the `pending` set.
 * 2. After LEAD_MS the pending topics are sent to the other servers in one notification. Further topics follow in
 *    batches, at most one notification every BATCH_MS.
 * 3. A payload is the sender's ID followed by one topic per line. A server ignores payloads that it sent itself.
 *
 * Invariants:
 * - Publish only after the transaction commits; otherwise a listener may read the old state.
 * - Delivery is best effort. Every listener also polls the database, so a lost message only adds latency.
 * - Notifications are never sent inside a transaction: NOTIFY acquires a database-wide lock at commit, which would
 *   serialize all commits.
 */

const CHANNEL = "outrider";
/** Other servers are notified this much later than local listeners. */
const LEAD_MS = 2;
const BATCH_MS = 10;
/** PostgreSQL limits a notification to 8,000 bytes. */
const BATCH_BYTES = 7_000;

export interface PubSub {
  /** Notifies listeners on all servers. Call it after the transaction commits. */
  publish(topic: string): void;
  /** Adds a listener and returns a function that removes it. */
  on(topic: string, listener: () => void): () => void;
  /** Resolves on the next message for the topic, after `ms`, or when the signal aborts. */
  next(topic: string, options: { ms: number; signal: AbortSignal }): Promise<void>;
  close(): Promise<void>;
}

export const topics = {
  /** Work is waiting: a run of the default pool, a build or a shell. */
  queue: "queue",
  /** A run of the pool is waiting. Servers of the previous version know only the default pool. */
  queueOf: (pool: string) => (pool === "default" ? "queue" : `queue ${pool}`),
  maintenance: "maintenance",
  /** Model providers, the default model or aliases have changed. */
  models: "models",
  /** A publication has become due. */
  publications: "publications",
  /** Any worker can take a request for files. */
  fileRequests: "file requests",
  /** Notifies listeners of messages about any run. It is never published directly. */
  runs: "runs",
  run: (runId: string) => `run ${runId}`,
  worker: (workerId: string) => `worker ${workerId}`,
  build: (buildId: string) => `build ${buildId}`,
  fileRequest: (requestId: string) => `file request ${requestId}`,
  shell: (shellId: string) => `shell ${shellId}`,
};

export interface PubSubOptions {
  /** The pool that sends notifications. */
  db: Db;
  /** Opens a pool that listens for notifications. */
  open(): Db;
  counters: Counters;
  log: Logger;
}

export async function openPubSub({ db, open, counters, log }: PubSubOptions): Promise<PubSub> {
  const serverId = randomUUID().slice(0, 8);
  const listeners = new Map<string, Set<() => void>>();
  const pending = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const notifyListeners = (topic: string) => {
    for (const listener of [...(listeners.get(topic) ?? [])]) listener();
    if (topic.startsWith("run ")) notifyListeners(topics.runs);
  };

  function notifyOtherServers() {
    timer = undefined;
    if (pending.size === 0) return;
    let payload = serverId;
    for (const topic of pending) {
      if (payload.length + topic.length >= BATCH_BYTES) break;
      payload += `\n${topic}`;
      pending.delete(topic);
    }
    db.notify(CHANNEL, payload).catch((error) => {
      counters.failed("pubsub");
      log.debug({ error }, "failed to notify other servers");
    });
    timer = setTimeout(notifyOtherServers, BATCH_MS);
  }

  const onMessage = (payload: string) => {
    const [sender, ...received] = payload.split("\n");
    if (sender !== serverId) for (const topic of received) notifyListeners(topic);
  };
  const onLost = () => counters.failed("subscription");
  const subscription = await subscribe({ db, open, channel: CHANNEL, onMessage, onLost });

  function on(topic: string, listener: () => void) {
    const existing = listeners.get(topic) ?? new Set();
    listeners.set(topic, existing.add(listener));
    return () => {
      existing.delete(listener);
      if (existing.size === 0) listeners.delete(topic);
    };
  }

  return {
    publish(topic) {
      notifyListeners(topic);
      pending.add(topic);
      timer ??= setTimeout(notifyOtherServers, LEAD_MS);
    },
    on,
    next(topic, { ms, signal }) {
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timeout);
          off();
          signal.removeEventListener("abort", done);
          resolve();
        };
        const timeout = setTimeout(done, ms);
        const off = on(topic, done);
        signal.addEventListener("abort", done);
        if (signal.aborted) done();
      });
    },
    async close() {
      clearTimeout(timer);
      await subscription.close();
    },
  };
}
