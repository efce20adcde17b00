import { limits } from "@outrider/contract/limits";
import type { Db, Tx } from "../store/db.ts";
import { deleteOldIdempotencyKeys } from "../store/idempotency.ts";
import {
  cutBySize,
  daysAgo,
  listRunsWithEvents,
  lockOldRuns,
  lockRetention,
  measureEvents,
  removeArtifacts,
  removeBuilds,
  removeEvents,
  removeFiles,
} from "../store/retention.ts";
import { deleteRun } from "../store/runs.ts";

/** How long something is kept, and how much of it; without either, for ever. */
export interface Bound {
  days?: number;
  bytes?: number;
}

/** What an installation keeps of runs that have ended. Settings of its operator. */
export interface Retention {
  /** The runs themselves, with all that is theirs. */
  runs: Pick<Bound, "days">;
  events: Bound;
  artifacts: Bound;
  /** Snapshots, and the builds that they lie over: what a further turn would begin with. */
  files: Bound;
  /** Builds that no run needs. */
  builds: Bound;
}

export const keepAll: Retention = { runs: {}, events: {}, artifacts: {}, files: {}, builds: {} };

/** What one pass has taken. */
export type Taken = Record<keyof Retention | "idempotency_keys", number>;

/** Each is one transaction, short enough that nobody waits for it. */
const RUNS_AT_ONCE = 20;
const ROWS_AT_ONCE = 1_000;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** One pass. Another server that is at it ends this one: what is left is taken by the next. */
export async function retain(db: Db, retention: Retention): Promise<Taken> {
  const hours = limits.idempotency.hours;
  const cutOf = async (kind: "artifacts" | "files" | "builds") => {
    const { days, bytes } = retention[kind];
    const byAge = days === undefined ? undefined : await daysAgo(db, days);
    const bySize = bytes === undefined ? undefined : await cutBySize(db, kind, bytes);
    return byAge && bySize ? (byAge > bySize ? byAge : bySize) : (byAge ?? bySize);
  };
  const take = async (kind: "artifacts" | "files" | "builds", remove: typeof removeFiles) => {
    const before = await cutOf(kind);
    return before ? inBatches(db, ROWS_AT_ONCE, (tx) => remove(tx, before, ROWS_AT_ONCE)) : 0;
  };
  return {
    idempotency_keys: await inBatches(db, ROWS_AT_ONCE, (tx) =>
      deleteOldIdempotencyKeys(tx, { hours, limit: ROWS_AT_ONCE }),
    ),
    runs: await takeRuns(db, retention.runs),
    events: await takeEvents(db, retention.events),
    artifacts: await take("artifacts", removeArtifacts),
    files: await take("files", removeFiles),
    builds: await take("builds", removeBuilds),
  };
}

/** Until a batch is not full, or another server cleans up. */
async function inBatches(db: Db, size: number, work: (tx: Tx) => Promise<number>): Promise<number> {
  for (let all = 0; ; ) {
    const count = await batch(db, work);
    all += count ?? 0;
    if (count === undefined || count < size) return all;
  }
}

async function batch<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T | undefined> {
  return (await db.begin(async (tx) => ((await lockRetention(tx)) ? work(tx) : undefined))) as T | undefined;
}

async function takeRuns(db: Db, { days }: Pick<Bound, "days">): Promise<number> {
  if (days === undefined) return 0;
  const before = await daysAgo(db, days);
  return inBatches(db, RUNS_AT_ONCE, async (tx) => {
    const runIds = await lockOldRuns(tx, before, RUNS_AT_ONCE);
    for (const runId of runIds) await deleteRun(tx, runId);
    return runIds.length;
  });
}

/** From the oldest run on, by age, and further while there are too many. */
async function takeEvents(db: Db, { days, bytes }: Bound): Promise<number> {
  if (days === undefined && bytes === undefined) return 0;
  const before = days === undefined ? undefined : await daysAgo(db, days);
  const now = await daysAgo(db, 0);
  let excess = 0;
  if (bytes !== undefined) {
    const measured = await measureEvents(db);
    excess = measured.rows - bytes / measured.bytes;
  }
  let taken = 0;
  for (let after = FIRST_ID; ; ) {
    // By number, one at a time: no more goes than must.
    const runIds = await listRunsWithEvents(db, after, excess > 0 ? 1 : RUNS_AT_ONCE);
    const last = runIds.at(-1);
    const cut = excess > 0 ? now : before;
    if (last === undefined || cut === undefined || isCreatedAfter(runIds[0] as string, cut)) return taken;
    const removed = await batch(db, (tx) => removeEvents(tx, runIds, cut));
    if (!removed) return taken;
    taken += removed.events;
    excess -= removed.events;
    after = last;
  }
}

/** A run's id begins with the milliseconds of its creation, and no run ends before that. */
function isCreatedAfter(runId: string, time: string): boolean {
  return Number.parseInt(runId.replaceAll("-", "").slice(0, 12), 16) > Date.parse(time);
}
