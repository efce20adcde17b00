import type { Busy, ConcurrencyLimit, Dimensions } from "../store/leases.ts";

/** How many runs are at work for each thing that a limit can count, against how many may be. */
export class Concurrency {
  private readonly max = new Map<string, number>();
  private readonly busy = new Map<string, number>();

  constructor({
    limits,
    busy,
    total,
  }: { limits: ConcurrencyLimit[]; busy: Busy[]; total?: number | undefined }) {
    for (const { kind, id, max } of limits) this.max.set(`${kind} ${id}`, max);
    if (total !== undefined) this.max.set("installation", total);
    for (const { count, ...dimensions } of busy) {
      for (const name of namesOf(dimensions)) this.busy.set(name, (this.busy.get(name) ?? 0) + count);
    }
  }

  /** The limit that holds a run back, if any. */
  heldBackBy(dimensions: Dimensions): string | undefined {
    return namesOf(dimensions).find((name) => this.isFull(name));
  }

  private isFull(name: string): boolean {
    const max = this.max.get(name);
    return max !== undefined && (this.busy.get(name) ?? 0) >= max;
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
