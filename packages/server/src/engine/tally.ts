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
/** What each server does by itself, and how often it failed at it is worth knowing. */
const chores = [
  "reaper",
  "janitor",
  "brake",
  "watch",
  "words",
  "deltas",
  "listening",
  "lifeline",
  "uses",
] as const;
export type Chore = (typeof chores)[number];
/** Those that come to an end again and again. */
export type Round = "reaper" | "janitor" | "brake";
const levels = { 40: "warn", 50: "error", 60: "fatal" } as const;
type Level = (typeof levels)[keyof typeof levels];

/** What this process has done since it began. Metrics read it; nothing else depends on it. */
export class Tally {
  readonly counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Tallied, number>;
  readonly reaped: Record<ReapedReason, number> = { lease: 0, turn: 0, queue: 0, answer: 0 };
  /** When each chore last came to its end, in seconds since 1970. */
  readonly succeededAt: Partial<Record<Round, number>> = {};
  readonly failures = Object.fromEntries(chores.map((chore) => [chore, 0])) as Record<Chore, number>;
  readonly lines: Record<Level, number> = { warn: 0, error: 0, fatal: 0 };
  /** Lines of the log for which there was no room. */
  dropped = 0;

  add(name: Tallied, by = 1) {
    this.counts[name] += by;
  }

  succeeded(chore: Round) {
    this.succeededAt[chore] = Date.now() / 1_000;
  }

  failed(chore: Chore) {
    this.failures[chore]++;
  }

  /** A line of the log, by pino's number for its level. */
  logged(level: number) {
    const name = levels[level as keyof typeof levels];
    if (name) this.lines[name]++;
  }
}
