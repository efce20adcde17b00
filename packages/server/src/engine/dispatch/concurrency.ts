import type { Busy, ConcurrencyLimit, Dimensions } from "../../store/dispatch/leases.ts";

/** Compares the number of active runs with each concurrency limit: installation, cloud agent, key and environment. */
export class Concurrency {
  readonly #max = new Map<string, number>();
  readonly #busy = new Map<string, number>();

  constructor({
    limits,
    busy,
    total,
  }: { limits: ConcurrencyLimit[]; busy: Busy[]; total?: number | undefined }) {
    for (const { kind, id, max } of limits) this.#max.set(`${kind} ${id}`, max);
    if (total !== undefined) this.#max.set("installation", total);
    for (const { count, ...dimensions } of busy) {
      for (const name of namesOf(dimensions)) this.#busy.set(name, (this.#busy.get(name) ?? 0) + count);
    }
  }

  /** Returns the name of the limit that prevents a run from starting, if any. */
  blockedBy(dimensions: Dimensions): string | undefined {
    return namesOf(dimensions).find((name) => this.#isFull(name));
  }

  #isFull(name: string): boolean {
    const max = this.#max.get(name);
    return max !== undefined && (this.#busy.get(name) ?? 0) >= max;
  }
}

function namesOf({ owner_uid, key_id, environment_id }: Dimensions): string[] {
  return [
    "installation",
    `agent ${owner_uid}`,
    `key ${key_id}`,
    ...(environment_id ? [`environment ${environment_id}`] : []),
  ];
}
