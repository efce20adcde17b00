const names = [
  "runs_created",
  "followups_sent",
  "runs_claimed",
  "runs_recovered",
  "leases_refused",
  "events_reported",
  "builds_claimed",
] as const;
export type Tallied = (typeof names)[number];

/** Why the reaper ended a run, or took it from its worker. */
export type ReapedReason = "lease" | "turn" | "queue" | "answer";
export type Chore = "reaper" | "janitor";

/** What this process has done since it began. Metrics read it; nothing else depends on it. */
export class Tally {
  readonly counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Tallied, number>;
  readonly reaped: Record<ReapedReason, number> = { lease: 0, turn: 0, queue: 0, answer: 0 };
  /** When each chore last came to its end, in seconds since 1970. */
  readonly succeededAt: Partial<Record<Chore, number>> = {};

  add(name: Tallied, by = 1) {
    this.counts[name] += by;
  }

  succeeded(chore: Chore) {
    this.succeededAt[chore] = Date.now() / 1_000;
  }
}
