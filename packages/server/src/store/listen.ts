import { randomUUID } from "node:crypto";
import type { Db } from "./db.ts";

const CHECK_MS = 5_000;
/** No payload of ours begins like this. */
const SIGN = "hearing ";

export interface Listening {
  close(): Promise<void>;
}

export interface ListenOptions {
  /** What notifications are sent with. */
  db: Db;
  /** A pool for this channel alone; it is ended and another opened where nothing is heard any more. */
  open(): Db;
  channel: string;
  hear(payload: string): void;
  /** Told each time that nothing was heard and it starts anew. */
  deaf?: () => void;
  checkMs?: number;
}

/**
 * Hears a channel for good. The driver (3.4.9) listens again when its connection is lost, but gives up silently where
 * that is refused, as by a standby that is not promoted yet; and a connection whose other end has vanished looks to it
 * like one on which nobody speaks. So we call ourselves from time to time, and start anew when we do not hear it.
 */
export async function keepListening(options: ListenOptions): Promise<Listening> {
  const { db, open, channel, hear, deaf = () => {}, checkMs = CHECK_MS } = options;
  const sign = SIGN + randomUUID();
  let hasHeard = true;
  let ear = open();
  const listen = () =>
    ear.listen(channel, (payload) => {
      if (payload === sign) hasHeard = true;
      else if (!payload.startsWith(SIGN)) hear(payload);
    });

  async function check() {
    if (!hasHeard) {
      deaf();
      await ear.end({ timeout: 0 });
      ear = open();
      await inTime(listen(), checkMs);
    }
    hasHeard = false;
    // Where the database cannot be reached, silence says nothing about us.
    await inTime(db.notify(channel, sign), checkMs).catch(() => {
      hasHeard = true;
    });
  }

  await listen();
  let isClosed = false;
  let isBusy = false;
  const ticker = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    // One that fails is made good by the next.
    check()
      .catch(() => {})
      .finally(() => {
        isBusy = false;
        if (isClosed) void ear.end({ timeout: 0 });
      });
  }, checkMs);
  return {
    async close() {
      isClosed = true;
      clearInterval(ticker);
      await ear.end({ timeout: 0 });
    },
  };
}

async function inTime(work: Promise<unknown>, ms: number): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("The database does not answer.")), ms);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
