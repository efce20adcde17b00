import { MESSAGE_BYTES } from "./server-channel.ts";

/** At most one announcement is sent in this time. */
const ANNOUNCE_MS = 1_000;
/** Longer than a batch of notifications, so that other servers do not forget a key after they have received it again. */
const LEAD_MS = 20;
const REFRESH_MS = 15_000;
/** For how long other servers remember a key. Longer than several refreshes, because announcements may be lost. */
export const EXPIRY_MS = 60_000;

/**
 * Announces keys to other servers: each when it is added, and again every REFRESH_MS. It does not announce that a key was
 * deleted, because other servers forget it after EXPIRY_MS. A key that returns before it is due again costs nothing.
 */
export class Announcer {
  readonly #send: (keys: string[]) => void;
  readonly #keys = new Set<string>();
  /** The time of each key's last announcement, also of keys that were deleted since. New keys have none and come first. */
  readonly #announcedAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #lastSentAt = -ANNOUNCE_MS;

  /** `send` is called with keys that fit into one message, one per line. */
  constructor(send: (keys: string[]) => void) {
    this.#send = send;
  }

  /** Keys that do not fit into a message are ignored. */
  add(key: string) {
    if (this.#keys.has(key) || key.length >= MESSAGE_BYTES) return;
    this.#keys.add(key);
    if (this.#isDue(key)) this.#schedule();
  }

  delete(key: string) {
    this.#keys.delete(key);
  }

  /** Returns the keys that other servers may know. */
  keys(): string[] {
    return [...this.#announcedAt.keys()];
  }

  /** Announces a key again, because other servers have forgotten it. */
  renew(key: string) {
    this.#announcedAt.delete(key);
    if (this.#keys.has(key)) this.#schedule();
  }

  close() {
    clearTimeout(this.#timer);
  }

  #isDue(key: string): boolean {
    return (this.#announcedAt.get(key) ?? -Infinity) + REFRESH_MS <= performance.now();
  }

  /** Announces what is due, as soon as it is allowed. */
  #schedule() {
    const wait = this.#lastSentAt + ANNOUNCE_MS - performance.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#announce(), Math.max(LEAD_MS, wait));
  }

  #announce() {
    const now = performance.now();
    const due: string[] = [];
    let length = 0;
    const at = (key: string) => this.#announcedAt.get(key) ?? -Infinity;
    for (const key of [...this.#keys].filter((one) => this.#isDue(one)).sort((a, b) => at(a) - at(b))) {
      length += key.length + 1;
      if (length > MESSAGE_BYTES) break;
      due.push(key);
    }
    if (due.length > 0) {
      this.#send(due);
      this.#lastSentAt = now;
      for (const key of due) this.#announcedAt.set(key, now);
    }
    for (const key of this.#announcedAt.keys())
      if (!this.#keys.has(key) && this.#isDue(key)) this.#announcedAt.delete(key);
    this.#timer = this.#keys.size > 0 ? setTimeout(() => this.#announce(), ANNOUNCE_MS) : undefined;
  }
}
