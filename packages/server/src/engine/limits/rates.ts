import type { Db } from "../../store/connection/db.ts";
import { findRemaining, type Rate, takeRateShare } from "../../store/rates.ts";
import { startTicker, type Ticker } from "../../ticker.ts";

/*
 * Rate limits over fixed one-minute windows, enforced across all servers: within one minute of the database's clock,
 * the number of granted requests never exceeds the limit.
 *
 * Querying the database for each request would be too slow, so a server takes a share of the window's allowance in
 * advance and counts requests against that share in memory:
 *
 * 1. On the first request in a window, the server asks the database for a share of MIN_SHARE. Requests wait for the
 *    response.
 * 2. When less than half of the last share is left, the server asks for the next one in the background. Callers that
 *    are far from their limit therefore do not wait again.
 * 3. The database grants at most an eighth of the remaining allowance, but at least one request (outrider_rate_share).
 *    Shares therefore shrink to a single request as the caller approaches the limit.
 * 4. When nothing remains, requests are rejected until the window ends.
 *
 * The drawback is that a server may hold part of the allowance without using it. A share is never larger than the
 * number of requests that the server has already granted in this window (or MIN_SHARE), nor larger than an eighth of
 * what remained. A caller that switches to another server may be rejected that many requests too early.
 *
 * Shares expire with their window. Because of the round trip to the database, a server knows only a range for the end
 * of the window: `endsAt` is the earliest time and `endedAt` the latest.
 */

const WINDOW_SECONDS = 60;
/** The size of the first share in a window. */
const MIN_SHARE = 10;
/** The next share is requested when less than this fraction of the last one is left. */
const REFILL_BELOW = 1 / 2;

/** The status of one rate limit, as far as this server knows. */
export interface RateStatus {
  limit: number;
  remaining: number;
  windowSeconds: number;
  /** Seconds until the window ends and the full allowance is available again. */
  seconds: number;
  isRefused: boolean;
}

/** The part of a window's allowance that this server may grant without querying the database. */
interface Share {
  /** Identifies the window; undefined until the database has responded for the first time. */
  window_start: number | undefined;
  left: number;
  granted: number;
  /** The number of requests that this server has granted in the window. */
  used: number;
  /** The part of the allowance that no server had taken when this server last asked. */
  remaining: number;
  /** The earliest and latest times at which the window can end, by this server's clock. */
  endsAt: number;
  endedAt: number;
  waiting: number;
  request: Promise<void> | undefined;
}

export class Rates {
  readonly #db: Db;
  readonly #shares = new Map<string, Share>();
  readonly #ticker: Ticker;

  constructor(db: Db) {
    this.#db = db;
    this.#ticker = startTicker({ everyMs: WINDOW_SECONDS * 1_000, task: () => this.#deleteEnded() });
  }

  /** Counts one request, if the limit allows it. */
  async take(subject: string, max: number): Promise<RateStatus> {
    return statusOf(...(await this.#draw(subject, max)));
  }

  /** Like `take`, but the request can be refunded. */
  async takeRefundable(subject: string, max: number): Promise<RateStatus & { refund(): void }> {
    const drawn = await this.#draw(subject, max);
    const [share, , isRefused] = drawn;
    const { window_start } = share;
    const refund = () => {
      // A refund is valid only in the window in which the request was counted.
      if (!isRefused && share.window_start === window_start) share.left += 1;
    };
    return { ...statusOf(...drawn), refund };
  }

  /** Returns the current status without counting a request. */
  async peek(subject: string, max: number): Promise<RateStatus> {
    const { remaining, left_ms } = await findRemaining(this.#db, subject, rate(max));
    const share = this.#shares.get(subject);
    const left = share && performance.now() < share.endsAt ? share.left : 0;
    const endedAt = performance.now() + left_ms;
    return statusOf({ remaining: Math.max(0, remaining), left, endedAt }, max, false);
  }

  async close() {
    await this.#ticker.stop();
  }

  async #draw(subject: string, max: number): Promise<[share: Share, max: number, isRefused: boolean]> {
    for (;;) {
      const share = this.#currentShare(subject);
      if (share.left > 0) {
        share.left -= 1;
        share.used += 1;
        const isLow = share.left < share.granted * REFILL_BELOW && share.remaining > 0;
        if (isLow && !share.request) this.#requestShare(subject, share, max).catch(() => {});
        return [share, max, false];
      }
      if (share.remaining === 0 && !share.request) return [share, max, true];
      share.waiting += 1;
      try {
        await (share.request ?? this.#requestShare(subject, share, max));
      } finally {
        share.waiting -= 1;
      }
    }
  }

  /** Returns this server's share of the current window. Unused shares of earlier windows are dropped. */
  #currentShare(subject: string): Share {
    const known = this.#shares.get(subject);
    const isNew = known?.window_start === undefined && known?.request !== undefined;
    if (known && (isNew || performance.now() < known.endsAt)) return known;
    const fresh: Share = {
      ...{ window_start: undefined, left: 0, granted: 0, used: 0, remaining: 1, endsAt: 0, endedAt: 0 },
      ...{ waiting: 0, request: undefined },
    };
    this.#shares.set(subject, fresh);
    return fresh;
  }

  #requestShare(subject: string, share: Share, max: number): Promise<void> {
    const request = this.#sendRequest(subject, share, max).finally(() => {
      share.request = undefined;
    });
    share.request = request;
    return request;
  }

  async #sendRequest(subject: string, share: Share, max: number): Promise<void> {
    const wanted = Math.min(max, Math.max(MIN_SHARE, share.used, share.waiting + 1));
    const sentAt = performance.now();
    const grant = await takeRateShare(this.#db, subject, wanted, rate(max));
    const { window_start, granted, remaining, left_ms } = grant;
    // A new window may have started before the database read its clock.
    if (window_start !== share.window_start) Object.assign(share, { window_start, left: 0, used: 0 });
    share.left += granted;
    // The database read its clock at some time between the request and the response.
    const [endsAt, endedAt] = [sentAt + left_ms, performance.now() + left_ms];
    Object.assign(share, { granted, remaining: Math.max(0, remaining), endsAt, endedAt });
  }

  #deleteEnded() {
    for (const [subject, { endedAt, request }] of this.#shares) {
      if (!request && endedAt < performance.now()) this.#shares.delete(subject);
    }
  }
}

function rate(max: number): Rate {
  return { max, windowSeconds: WINDOW_SECONDS };
}

/** Rounds the remaining time up, so that a caller that waits this long is in a new window. */
function statusOf(
  { left, remaining, endedAt }: Pick<Share, "left" | "remaining" | "endedAt">,
  limit: number,
  isRefused: boolean,
): RateStatus {
  const seconds = Math.max(1, Math.ceil((endedAt - performance.now()) / 1_000));
  return {
    limit,
    remaining: isRefused ? 0 : Math.max(0, Math.min(limit, remaining + left)),
    windowSeconds: WINDOW_SECONDS,
    seconds,
    isRefused,
  };
}
