import type { Busy, Candidate, ConcurrencyLimit, Dimensions } from "../store/leases.ts";

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
    for (const { count, ...dimensions } of busy) this.add(dimensions, count);
  }

  add(dimensions: Dimensions, count = 1) {
    for (const name of [...namesOf(dimensions), `owner ${dimensions.owner_uid}`]) {
      this.busy.set(name, (this.busy.get(name) ?? 0) + count);
    }
  }

  /** How many runs of the owner are at work: who has fewest comes first. */
  served(ownerUid: string): number {
    return this.busy.get(`owner ${ownerUid}`) ?? 0;
  }

  /** The limit that holds a run back, if any. */
  heldBackBy(dimensions: Dimensions): string | undefined {
    return namesOf(dimensions).find((name) => this.isFull(name));
  }

  /** What is full, by kind, so that a query can leave it out. */
  full(kind: ConcurrencyLimit["kind"]): string[] {
    const names = [...this.max.keys()].filter((name) => name.startsWith(`${kind} `) && this.isFull(name));
    return names.map((name) => name.slice(kind.length + 1));
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

/** Priority first, then the owner who is served least, then age; never past a limit. */
export function pick(candidates: Candidate[], concurrency: Concurrency, free: number): Candidate[] {
  const waiting = [...candidates];
  const picked: Candidate[] = [];
  while (picked.length < free) {
    let best: Candidate | undefined;
    for (const one of waiting) {
      if (concurrency.heldBackBy(one) === undefined && (!best || comesBefore(one, best, concurrency)))
        best = one;
    }
    if (!best) break;
    waiting.splice(waiting.indexOf(best), 1);
    concurrency.add(best);
    picked.push(best);
  }
  return picked;
}

function comesBefore(a: Candidate, b: Candidate, concurrency: Concurrency): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  const [servedA, servedB] = [concurrency.served(a.owner_uid), concurrency.served(b.owner_uid)];
  if (servedA !== servedB) return servedA < servedB;
  return a.queued_at !== b.queued_at ? a.queued_at < b.queued_at : a.run_id < b.run_id;
}
