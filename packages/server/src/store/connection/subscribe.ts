import { randomUUID } from "node:crypto";
import { startTicker } from "../../ticker.ts";
import type { Db } from "./db.ts";
import { notify } from "./notify.ts";

const CHECK_MS = 5_000;
/** Distinguishes probes from messages, which never start with this prefix. */
const PROBE_PREFIX = "probe ";

export interface Subscription {
  close(): Promise<void>;
}

export interface SubscribeOptions {
  /** Sends the probes. */
  db: Db;
  /**
   * Opens a pool that is used only for this channel. If the subscription is lost, the pool is closed and a new one is
   * opened.
   */
  open(): Db;
  channel: string;
  onMessage(payload: string): void;
  /** Called whenever the subscription is lost, before it is restarted. */
  onLost?: () => void;
  checkMs?: number;
}

/**
 * Subscribes to a PostgreSQL notification channel and keeps the subscription alive.
 *
 * The driver (3.4.9) subscribes again when its connection is lost, but silently gives up if the new LISTEN fails, for
 * example on a standby that has not been promoted yet. It also cannot distinguish a quiet channel from a dead
 * connection. Therefore a probe is sent through the channel every CHECK_MS. If the probe does not arrive before the
 * next check, the subscription is restarted on a new pool.
 */
export async function subscribe(options: SubscribeOptions): Promise<Subscription> {
  const { db, open, channel, onMessage, onLost = () => {}, checkMs = CHECK_MS } = options;
  const probe = PROBE_PREFIX + randomUUID();
  let probeArrived = true;
  let listener = open();
  const listen = () =>
    listener.listen(channel, (payload) => {
      if (payload === probe) probeArrived = true;
      else if (!payload.startsWith(PROBE_PREFIX)) onMessage(payload);
    });

  async function check() {
    if (!probeArrived) {
      onLost();
      await listener.end({ timeout: 0 });
      listener = open();
      await withTimeout(listen(), checkMs);
    }
    probeArrived = false;
    // If the probe cannot be sent, its absence does not mean that the subscription is lost.
    await withTimeout(notify(db, channel, probe), checkMs).catch(() => {
      probeArrived = true;
    });
  }

  await listen();
  let isClosed = false;
  const ticker = startTicker({
    everyMs: checkMs,
    // Errors are ignored because the check is repeated at the next interval.
    task: () =>
      check().finally(() => {
        if (isClosed) void listener.end({ timeout: 0 });
      }),
  });
  return {
    async close() {
      isClosed = true;
      void ticker.stop();
      await listener.end({ timeout: 0 });
    },
  };
}

async function withTimeout(work: Promise<unknown>, ms: number): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("The database is not responding.")), ms);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
