/** Pseudo-random numbers that are the same in every round (mulberry32). */
export interface Random {
  /** From 0 up to, not including, `below`. */
  below(below: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** Some of them, each at most once, in their order. */
  some<T>(from: readonly T[], probability: number): T[];
  uuid(): string;
}

export function createRandom(seed: number): Random {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const hex = (digits: number) => Array.from({ length: digits }, () => below(16).toString(16)).join("");
  return {
    below,
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]) => from[below(from.length)] as T,
    some: (from, probability) => from.filter(() => next() < probability),
    uuid: () => `${hex(8)}-${hex(4)}-7${hex(3)}-${"89ab"[below(4)]}${hex(3)}-${hex(12)}`,
  };
}
