import { runFileLimits } from "@outrider/contract/run-file";
import type { Signals } from "@outrider/contract/worker";
import type { Db } from "../../store/connection/db.ts";
import { listSignals } from "../../store/dispatch/signals.ts";
import { PREFER_MS } from "../files/file-requests.ts";
import { type PubSub, topics } from "../live/pubsub.ts";

/*
 * Each server has one reader for the signals of all workers that are connected to it. It reads the signals of all of them
 * in one statement every POLL_MS, because notifications can be lost. After a notification it reads at once: for a worker
 * that was notified, or for all workers if there is new work that any of them can take. Notifications that arrive within
 * BATCH_MS, or while the reader is reading, share a statement. Thus the cost does not depend on the number of workers.
 */

const POLL_MS = 800;
const BATCH_MS = 3;
const fileRequests = { preferMs: PREFER_MS, waitMs: runFileLimits.waitMs };

export interface Reading {
  /** Undefined if the worker's key is no longer valid. */
  signals: Signals | undefined;
  /** True if the worker was notified since its last reading. */
  isNotified: boolean;
}

interface Watcher {
  workerId: string;
  credentialId: string;
  /** Initially true, so that a new stream starts with the current signals. */
  isNotified: boolean;
  /** True if the signals may have changed since the last reading. */
  isDue: boolean;
  /** Present while the stream waits for a reading. */
  waiting?: PromiseWithResolvers<Reading | undefined>;
}

export interface WatchedSignals {
  /**
   * Resolves with the worker's signals after a notification, or after POLL_MS. Everything that was committed before a
   * notification is in the reading that follows it. Resolves with undefined when the signal aborts.
   */
  next(signal: AbortSignal): Promise<Reading | undefined>;
  close(): void;
}

export class SignalReader {
  readonly #db: Db;
  readonly #pubsub: PubSub;
  readonly #watchers = new Set<Watcher>();
  readonly #unsubscribe: (() => void)[];
  #batchTimer: NodeJS.Timeout | undefined;
  #pollTimer: NodeJS.Timeout | undefined;
  #isReading = false;

  constructor({ db, pubsub }: { db: Db; pubsub: PubSub }) {
    this.#db = db;
    this.#pubsub = pubsub;
    this.#unsubscribe = [topics.publications, topics.fileRequests].map((topic) =>
      pubsub.on(topic, () => this.#readAll()),
    );
  }

  watch(workerId: string, credentialId: string): WatchedSignals {
    const watcher: Watcher = { workerId, credentialId, isNotified: true, isDue: true };
    this.#watchers.add(watcher);
    this.#pollTimer ??= setTimeout(() => this.#poll(), POLL_MS);
    const unsubscribe = this.#pubsub.on(topics.worker(workerId), () => {
      watcher.isNotified = true;
      watcher.isDue = true;
      this.#schedule();
    });
    return {
      next: (signal) => this.#next(watcher, signal),
      close: () => {
        unsubscribe();
        this.#watchers.delete(watcher);
      },
    };
  }

  close() {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    clearTimeout(this.#batchTimer);
    clearTimeout(this.#pollTimer);
    for (const watcher of this.#watchers) watcher.waiting?.resolve(undefined);
    this.#watchers.clear();
  }

  async #next(watcher: Watcher, signal: AbortSignal): Promise<Reading | undefined> {
    if (signal.aborted) return undefined;
    const waiting = Promise.withResolvers<Reading | undefined>();
    const abort = () => waiting.resolve(undefined);
    signal.addEventListener("abort", abort);
    watcher.waiting = waiting;
    if (watcher.isDue) this.#schedule();
    try {
      return await waiting.promise;
    } finally {
      signal.removeEventListener("abort", abort);
      delete watcher.waiting;
    }
  }

  #poll() {
    this.#pollTimer = this.#watchers.size > 0 ? setTimeout(() => this.#poll(), POLL_MS) : undefined;
    this.#readAll();
  }

  #readAll() {
    for (const watcher of this.#watchers) watcher.isDue = true;
    this.#schedule();
  }

  #schedule() {
    if (this.#isReading) return;
    this.#batchTimer ??= setTimeout(() => {
      this.#batchTimer = undefined;
      void this.#read();
    }, BATCH_MS);
  }

  /** Reads the signals of all workers that are due. A stream whose client is slow to receive is read later. */
  async #read() {
    const due = [...this.#watchers].filter(({ isDue, waiting }) => isDue && waiting);
    if (due.length === 0) return;
    this.#isReading = true;
    const readings = due.map((watcher) => {
      const { waiting, isNotified } = watcher;
      watcher.isNotified = false;
      watcher.isDue = false;
      return { watcher, waiting, isNotified };
    });
    try {
      const { signals, revoked } = await listSignals(this.#db, {
        workerIds: [...new Set(due.map(({ workerId }) => workerId))],
        credentialIds: [...new Set(due.map(({ credentialId }) => credentialId))],
        fileRequests,
      });
      for (const { watcher, waiting, isNotified } of readings) {
        const isRevoked = revoked.has(watcher.credentialId);
        waiting?.resolve({ signals: isRevoked ? undefined : signals.get(watcher.workerId), isNotified });
      }
    } catch (error) {
      for (const { waiting } of readings) waiting?.reject(error);
    } finally {
      this.#isReading = false;
    }
    if ([...this.#watchers].some(({ isDue, waiting }) => isDue && waiting)) this.#schedule();
  }
}
