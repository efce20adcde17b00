import type { Db } from "../store/db.ts";
import { findRest, type Rate, takeShare } from "../store/rates.ts";

const WINDOW_SECONDS = 60;
/** The first share of a window. */
const LEAST = 10;
/** The next share is asked for when less than this part of the last one is left: whoever is far from the limit never waits. */
const AHEAD = 1 / 2;

/** Where one allowance stands, as far as this server knows. */
export interface Standing {
  limit: number;
  remaining: number;
  windowSeconds: number;
  /** Until the window ends; then the whole allowance is there again. */
  seconds: number;
  isRefused: boolean;
}

/** A part of one window's allowance, which this server may give out without asking. */
interface Share {
  /** Which window; undefined until the first answer. */
  began: number | undefined;
  left: number;
  granted: number;
  /** What this server has given out in the window. */
  used: number;
  /** What nobody had taken when the database was last asked. */
  rest: number;
  /** The window is over at the earliest, and at the latest, by our own clock. */
  endsAt: number;
  overAt: number;
  waiting: number;
  asking: Promise<void> | undefined;
}

/**
 * Allowances for a minute that hold on all servers together: never is more given out than the limit in one minute of the
 * database's clock. A server takes shares of the allowance ahead and counts within them in memory. What it holds unused is
 * never more than it has given out in this minute (or ten), nor more than an eighth of what was left: by so much a caller
 * may be refused too early who goes from this server to another. Near the limit a share is one request.
 */
export class Rates {
  private readonly db: Db;
  private readonly shares = new Map<string, Share>();
  private readonly ticker: NodeJS.Timeout;

  constructor(db: Db) {
    this.db = db;
    this.ticker = setInterval(() => this.forget(), WINDOW_SECONDS * 1_000);
  }

  /** Counts one, if the allowance has it. */
  async take(subject: string, max: number): Promise<Standing> {
    return standing(...(await this.draw(subject, max)));
  }

  /** Counts one that can be given back. */
  async lend(subject: string, max: number): Promise<Standing & { giveBack(): void }> {
    const drawn = await this.draw(subject, max);
    const [share, , isRefused] = drawn;
    const { began } = share;
    const giveBack = () => {
      // To the window that it was taken from: if that is over, nobody wants it any more.
      if (!isRefused && share.began === began) share.left += 1;
    };
    return { ...standing(...drawn), giveBack };
  }

  /** Where an allowance stands now, without counting. */
  async look(subject: string, max: number): Promise<Standing> {
    const { rest, left_ms } = await findRest(this.db, subject, rate(max));
    const share = this.shares.get(subject);
    const own = share && performance.now() < share.endsAt ? share.left : 0;
    const overAt = performance.now() + left_ms;
    return standing({ rest: Math.max(0, rest), left: own, overAt }, max, false);
  }

  close() {
    clearInterval(this.ticker);
  }

  private async draw(subject: string, max: number): Promise<[share: Share, max: number, isRefused: boolean]> {
    for (;;) {
      const share = this.shareOf(subject);
      if (share.left > 0) {
        share.left -= 1;
        share.used += 1;
        const isLow = share.left < share.granted * AHEAD && share.rest > 0;
        if (isLow && !share.asking) this.ask(subject, share, max).catch(() => {});
        return [share, max, false];
      }
      if (share.rest === 0 && !share.asking) return [share, max, true];
      share.waiting += 1;
      try {
        await (share.asking ?? this.ask(subject, share, max));
      } finally {
        share.waiting -= 1;
      }
    }
  }

  /** Of the window that is now; what an earlier one has left, or is still asked for it, is nobody's any more. */
  private shareOf(subject: string): Share {
    const known = this.shares.get(subject);
    const isNew = known?.began === undefined && known?.asking !== undefined;
    if (known && (isNew || performance.now() < known.endsAt)) return known;
    const fresh: Share = {
      ...{ began: undefined, left: 0, granted: 0, used: 0, rest: 1, endsAt: 0, overAt: 0 },
      ...{ waiting: 0, asking: undefined },
    };
    this.shares.set(subject, fresh);
    return fresh;
  }

  private ask(subject: string, share: Share, max: number): Promise<void> {
    const asking = this.askNow(subject, share, max).finally(() => {
      share.asking = undefined;
    });
    share.asking = asking;
    return asking;
  }

  private async askNow(subject: string, share: Share, max: number): Promise<void> {
    const wanted = Math.min(max, Math.max(LEAST, share.used, share.waiting + 1));
    const asked = performance.now();
    const { began, granted, rest, left_ms } = await takeShare(this.db, subject, wanted, rate(max));
    // The database may have looked at its clock when the next window had just begun.
    if (began !== share.began) Object.assign(share, { began, left: 0, used: 0 });
    share.left += granted;
    // That was at some moment between the question and the answer.
    const [endsAt, overAt] = [asked + left_ms, performance.now() + left_ms];
    Object.assign(share, { granted, rest: Math.max(0, rest), endsAt, overAt });
  }

  private forget() {
    for (const [subject, { overAt, asking }] of this.shares) {
      if (!asking && overAt < performance.now()) this.shares.delete(subject);
    }
  }
}

function rate(max: number): Rate {
  return { max, windowSeconds: WINDOW_SECONDS };
}

/** The time is rounded up, so that a caller who waits for it finds a new window. */
function standing(
  { left, rest, overAt }: Pick<Share, "left" | "rest" | "overAt">,
  limit: number,
  isRefused: boolean,
): Standing {
  const seconds = Math.max(1, Math.ceil((overAt - performance.now()) / 1_000));
  return {
    limit,
    remaining: isRefused ? 0 : Math.max(0, Math.min(limit, rest + left)),
    windowSeconds: WINDOW_SECONDS,
    seconds,
    isRefused,
  };
}
