import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Db } from "../store/db.ts";
import { keepListening } from "../store/listen.ts";
import type { Tally } from "./tally.ts";

const CHANNEL = "outrider";
/** Who waits here goes first; the other servers hear of it when the hurry is over. */
const LEAD_MS = 2;
const BATCH_MS = 10;
/** A notification may hold 8,000 bytes. */
const BATCH_BYTES = 7_000;

/**
 * Word that something happened, here and on the other servers. It only saves waiting: whoever listens also looks by
 * itself from time to time, so a word that is lost costs a moment and nothing else.
 */
export interface Wake {
  /** Call it after the commit. */
  say(topic: string): void;
  on(topic: string, listener: () => void): () => void;
  /** Resolves at the next word on the topic, after `ms`, or when the signal aborts. */
  next(topic: string, options: { ms: number; signal: AbortSignal }): Promise<void>;
  close(): Promise<void>;
}

export const topics = {
  queue: "queue",
  brake: "brake",
  /** Heard with the word on any run. */
  runs: "runs",
  run: (runId: string) => `run ${runId}`,
  worker: (workerId: string) => `worker ${workerId}`,
  build: (buildId: string) => `build ${buildId}`,
};

/** What words to other servers need. */
export interface Voice {
  db: Db;
  /** A pool to listen with. */
  open(): Db;
  tally: Tally;
  log: Logger;
}

export async function openWake({ db, open, tally, log }: Voice): Promise<Wake> {
  const self = randomUUID().slice(0, 8);
  const listeners = new Map<string, Set<() => void>>();
  const unsaid = new Set<string>();
  let pause: NodeJS.Timeout | undefined;

  const tell = (topic: string) => {
    for (const listener of [...(listeners.get(topic) ?? [])]) listener();
    if (topic.startsWith("run ")) tell(topics.runs);
  };

  // NOTIFY takes a lock on the whole database when it commits, so words go out in batches and outside transactions.
  function tellOthers() {
    pause = undefined;
    if (unsaid.size === 0) return;
    let payload = self;
    for (const topic of unsaid) {
      if (payload.length + topic.length >= BATCH_BYTES) break;
      payload += `\n${topic}`;
      unsaid.delete(topic);
    }
    db.notify(CHANNEL, payload).catch((error) => {
      tally.failed("words");
      log.debug({ error }, "cannot tell other servers");
    });
    pause = setTimeout(tellOthers, BATCH_MS);
  }

  const hear = (payload: string) => {
    const [from, ...heard] = payload.split("\n");
    if (from !== self) for (const topic of heard) tell(topic);
  };
  const deaf = () => tally.failed("listening");
  const listening = await keepListening({ db, open, channel: CHANNEL, hear, deaf });

  function on(topic: string, listener: () => void) {
    const known = listeners.get(topic) ?? new Set();
    listeners.set(topic, known.add(listener));
    return () => {
      known.delete(listener);
      if (known.size === 0) listeners.delete(topic);
    };
  }

  return {
    say(topic) {
      tell(topic);
      unsaid.add(topic);
      pause ??= setTimeout(tellOthers, LEAD_MS);
    },
    on,
    next(topic, { ms, signal }) {
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          off();
          signal.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        const off = on(topic, done);
        signal.addEventListener("abort", done);
        if (signal.aborted) done();
      });
    },
    async close() {
      clearTimeout(pause);
      await listening.close();
    },
  };
}
