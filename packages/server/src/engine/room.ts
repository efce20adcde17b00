import type { Refusal } from "./refusal.ts";

export interface RoomBounds {
  /** For all callers together, and for one of them. */
  most: number;
  mostEach: number;
  /** How long who waits for room is kept waiting. */
  waitMs: number;
}

export interface RoomRefusals {
  /** To who has taken up their own part. */
  own(): Refusal;
  /** To who has not, while others have taken up the whole. */
  all(): Refusal;
}

interface Guest {
  subject: string;
  size: number;
}

/**
 * How much may be under way at once, of all callers and of one, so that whoever asks for too much waits for themselves and
 * nobody waits for them. Limits for a minute do not do that: a minute's allowance may come in one moment.
 */
export class Room {
  readonly #bounds: RoomBounds;
  readonly #refusals: RoomRefusals;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Map<Guest, () => void>();
  #total = 0;
  #refused = 0;

  constructor(bounds: RoomBounds, refusals: RoomRefusals) {
    this.#bounds = bounds;
    this.#refusals = refusals;
  }

  /** For metrics. */
  get standing(): { used: number; waiting: number; refused: number } {
    return { used: this.#total, waiting: this.#waiting.size, refused: this.#refused };
  }

  /** Resolves when there is room, with the way to give it back; refuses after a while. */
  async enter(subject: string, size = 1): Promise<() => void> {
    const guest = { subject, size };
    if (this.#fits(guest)) this.#take(guest, 1);
    else await this.#turnOf(guest);
    return this.#wayOut(guest);
  }

  /** Where there is room; else refuses at once. */
  enterNow(subject: string): () => void {
    const guest = { subject, size: 1 };
    if (!this.#fits(guest)) throw this.#refusalTo(guest);
    this.#take(guest, 1);
    return this.#wayOut(guest);
  }

  #wayOut(guest: Guest): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#take(guest, -1);
      this.#callNext();
    };
  }

  async within<T>(subject: string, work: () => Promise<T>): Promise<T> {
    const leave = await this.enter(subject);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #refusalTo(guest: Guest): Refusal {
    this.#refused++;
    return this.#isOwnBound(guest) ? this.#refusals.own() : this.#refusals.all();
  }

  #isOwnBound({ subject, size }: Guest): boolean {
    return (this.#held.get(subject) ?? 0) + size > this.#bounds.mostEach;
  }

  #fits(guest: Guest): boolean {
    return this.#total + guest.size <= this.#bounds.most && !this.#isOwnBound(guest);
  }

  #take({ subject, size }: Guest, times: 1 | -1) {
    this.#total += times * size;
    const held = (this.#held.get(subject) ?? 0) + times * size;
    if (held > 0) this.#held.set(subject, held);
    else this.#held.delete(subject);
  }

  #turnOf(guest: Guest): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(guest);
        reject(this.#refusalTo(guest));
      }, this.#bounds.waitMs);
      this.#waiting.set(guest, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** In the order in which they came, but for those whom only their own part keeps out. */
  #callNext() {
    for (const [guest, enter] of this.#waiting) {
      if (this.#isOwnBound(guest)) continue;
      if (!this.#fits(guest)) return;
      this.#waiting.delete(guest);
      this.#take(guest, 1);
      enter();
    }
  }
}
