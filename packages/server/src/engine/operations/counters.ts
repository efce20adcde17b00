const names = [
  "runs_created",
  "followups_sent",
  "runs_claimed",
  "runs_recovered",
  "leases_refused",
  "events_reported",
  "builds_claimed",
] as const;
export type CounterName = (typeof names)[number];

/** The reason why the reaper ended a run or revoked its lease. */
export type ReapedReason = "lease" | "turn" | "queue" | "answer";
/** Tasks that each server runs in the background and whose failures are counted. */
const backgroundTasks = [
  "reaper",
  "cleanup",
  "maintenance",
  "models",
  "run_watcher",
  "pubsub",
  "deltas",
  "subscription",
  "connection_watchdog",
  "last_used",
  "shells",
  "publications",
  "pull_requests",
  "usage",
] as const;
export type BackgroundTask = (typeof backgroundTasks)[number];
/** Background tasks that run periodically and report when they succeed. */
export type PeriodicTask = "reaper" | "cleanup" | "maintenance" | "models";
const levels = { 40: "warn", 50: "error", 60: "fatal" } as const;
type Level = (typeof levels)[keyof typeof levels];

/** Counts events in this process since it started. The counts are used only for metrics. */
export class Counters {
  readonly counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<CounterName, number>;
  readonly reaped: Record<ReapedReason, number> = { lease: 0, turn: 0, queue: 0, answer: 0 };
  /** When each task last succeeded, in seconds since the Unix epoch. */
  readonly succeededAt: Partial<Record<PeriodicTask, number>> = {};
  readonly failures = Object.fromEntries(backgroundTasks.map((task) => [task, 0])) as Record<
    BackgroundTask,
    number
  >;
  readonly lines: Record<Level, number> = { warn: 0, error: 0, fatal: 0 };
  /** Log lines that were dropped because the output buffer was full. */
  dropped = 0;

  add(name: CounterName, by = 1) {
    this.counts[name] += by;
  }

  succeeded(task: PeriodicTask) {
    this.succeededAt[task] = Date.now() / 1_000;
  }

  failed(task: BackgroundTask) {
    this.failures[task]++;
  }

  /** Counts a log line by pino's numeric level. */
  logged(level: number) {
    const name = levels[level as keyof typeof levels];
    if (name) this.lines[name]++;
  }
}
