import type { KeyOwner } from "../../store/auth/keys.ts";

/*
 * Remembers the worker keys that were valid a moment ago. Thousands of workers, or a few busy ones, would otherwise look up the
 * same few keys hundreds of times a second.
 *
 * - A key is used without a lookup for at most MAX_AGE_MS, counted from the start of the lookup.
 * - One statement looks up all keys that were used recently, so its frequency does not depend on the number of keys.
 *   Requests with a key that is being looked up wait for that lookup.
 * - `forget` is called whenever a key is revoked on any server. Results of lookups that have started before are then not
 *   remembered. So only a lost notification delays the revocation, by MAX_AGE_MS.
 */

const MAX_AGE_MS = 500;
/** A lookup includes all other keys whose last one is longer ago than this, so that they need none of their own. */
const MIN_AGE_MS = 50;
/** Longer than the time between two requests of a worker. */
const RECENT_MS = 60_000;
const MAX_KEYS = 10_000;

interface Remembered {
  owner: KeyOwner;
  hash: Buffer;
  checkedAt: number;
  usedAt: number;
}

export class WorkerKeys {
  readonly #find: (hashes: Buffer[]) => Promise<(KeyOwner & { hash: Buffer })[]>;
  readonly #remembered = new Map<string, Remembered>();
  readonly #asked = new Map<string, Buffer>();
  #lookup: Promise<Map<string, KeyOwner>> | undefined;
  /** The lookup that started last, with the keys that it looks up. */
  #started: { names: Set<string>; found: Promise<Map<string, KeyOwner>>; at: number } | undefined;
  #generation = 0;

  /** `find` returns the owners of those keys that are valid. */
  constructor(find: (hashes: Buffer[]) => Promise<(KeyOwner & { hash: Buffer })[]>) {
    this.#find = find;
  }

  /** Returns the owner of a key, or undefined if the key is not valid. */
  async findOwner(hash: Buffer): Promise<KeyOwner | undefined> {
    const name = hash.toString("base64");
    const known = this.#remembered.get(name);
    if (known && isFresh(known)) {
      known.usedAt = performance.now();
      return known.owner;
    }
    const { names, found, at = 0 } = this.#started ?? {};
    if (known && names?.has(name) && performance.now() - at < MAX_AGE_MS) return (await found)?.get(name);
    this.#asked.set(name, hash);
    // All requests of one event-loop turn share a lookup, which starts after all of them have arrived.
    this.#lookup ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#lookUp());
    return (await this.#lookup).get(name);
  }

  /** Forgets all keys, because one of them may have been revoked. */
  forget() {
    this.#generation++;
    this.#started = undefined;
    for (const known of this.#remembered.values()) known.checkedAt = Number.NEGATIVE_INFINITY;
  }

  async #lookUp(): Promise<Map<string, KeyOwner>> {
    this.#lookup = undefined;
    const checkedAt = performance.now();
    const generation = this.#generation;
    const hashes = new Map(this.#asked);
    this.#asked.clear();
    const asked = new Set(hashes.keys());
    for (const [name, known] of this.#remembered) {
      if (checkedAt - known.usedAt > RECENT_MS) this.#remembered.delete(name);
      else if (checkedAt - known.checkedAt > MIN_AGE_MS) hashes.set(name, known.hash);
    }
    const looked = this.#find([...hashes.values()]).then(
      (owners) => new Map(owners.map((owner) => [owner.hash.toString("base64"), owner])),
    );
    const started = { names: new Set(hashes.keys()), found: looked, at: checkedAt };
    this.#started = started;
    const found = await looked.finally(() => {
      if (this.#started === started) this.#started = undefined;
    });
    for (const [name, hash] of hashes) {
      const owner = found.get(name);
      if (owner?.key_type !== "worker") this.#remembered.delete(name);
      else if (generation === this.#generation) {
        const usedAt = asked.has(name) ? checkedAt : (this.#remembered.get(name)?.usedAt ?? checkedAt);
        this.#remembered.set(name, { owner, hash, checkedAt, usedAt });
      }
    }
    if (this.#remembered.size > MAX_KEYS) this.#remembered.clear();
    return found;
  }
}

function isFresh({ owner, checkedAt }: Remembered): boolean {
  const isExpired = owner.expires_at !== null && Date.parse(owner.expires_at) <= Date.now();
  return performance.now() - checkedAt < MAX_AGE_MS && !isExpired;
}
