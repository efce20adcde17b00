import { limits } from "@outrider/contract/limits";
import type { Db, Tx } from "../../store/connection/db.ts";
import { deleteOldIdempotencyKeys } from "../../store/idempotency.ts";
import {
  daysAgo,
  findSizeCutoff,
  listRunsWithEvents,
  lockOldRuns,
  measureEvents,
  removeArtifacts,
  removeBuilds,
  removeEvents,
  removeFiles,
  tryLockRetention,
} from "../../store/retention.ts";
import { deleteRun } from "../../store/runs/runs.ts";

/** The maximum age and total size of stored data. If neither is set, data is kept indefinitely. */
export interface RetentionLimit {
  days?: number;
  bytes?: number;
}

/** The retention limits for ended runs' data, as configured by the operator. */
export interface Retention {
  /** Runs, including all of their data. */
  runs: Pick<RetentionLimit, "days">;
  events: RetentionLimit;
  artifacts: RetentionLimit;
  /** Workspace snapshots and the builds they are based on. A new turn would start from these. */
  files: RetentionLimit;
  /** Builds that no run uses. */
  builds: RetentionLimit;
}

export const keepAll: Retention = { runs: {}, events: {}, artifacts: {}, files: {}, builds: {} };

/** The number of items that one pass has deleted. */
export type Deleted = Record<keyof Retention | "idempotency_keys", number>;

/** Each batch is one transaction, so it must be short enough not to delay others. */
const RUNS_PER_BATCH = 20;
const ROWS_PER_BATCH = 1_000;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/**
 * Deletes data that exceeds the retention limits. Stops early if another server is also applying retention; the next
 * pass continues.
 */
export async function applyRetention(db: Db, retention: Retention): Promise<Deleted> {
  const hours = limits.idempotency.hours;
  const cutoffOf = async (kind: "artifacts" | "files" | "builds") => {
    const { days, bytes } = retention[kind];
    const byAge = days === undefined ? undefined : await daysAgo(db, days);
    const bySize = bytes === undefined ? undefined : await findSizeCutoff(db, kind, bytes);
    return byAge && bySize ? (byAge > bySize ? byAge : bySize) : (byAge ?? bySize);
  };
  const deleteOld = async (kind: "artifacts" | "files" | "builds", remove: typeof removeFiles) => {
    const before = await cutoffOf(kind);
    return before ? inBatches(db, ROWS_PER_BATCH, (tx) => remove(tx, before, ROWS_PER_BATCH)) : 0;
  };
  return {
    idempotency_keys: await inBatches(db, ROWS_PER_BATCH, (tx) =>
      deleteOldIdempotencyKeys(tx, { hours, limit: ROWS_PER_BATCH }),
    ),
    runs: await deleteRuns(db, retention.runs),
    events: await deleteEvents(db, retention.events),
    artifacts: await deleteOld("artifacts", removeArtifacts),
    files: await deleteOld("files", removeFiles),
    builds: await deleteOld("builds", removeBuilds),
  };
}

/** Repeats a batch until it deletes fewer than `size` items or another server holds the lock. */
async function inBatches(db: Db, size: number, work: (tx: Tx) => Promise<number>): Promise<number> {
  for (let all = 0; ; ) {
    const count = await batch(db, work);
    all += count ?? 0;
    if (count === undefined || count < size) return all;
  }
}

async function batch<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T | undefined> {
  return (await db.begin(async (tx) => ((await tryLockRetention(tx)) ? work(tx) : undefined))) as
    | T
    | undefined;
}

async function deleteRuns(db: Db, { days }: Pick<RetentionLimit, "days">): Promise<number> {
  if (days === undefined) return 0;
  const before = await daysAgo(db, days);
  return inBatches(db, RUNS_PER_BATCH, async (tx) => {
    const runIds = await lockOldRuns(tx, before, RUNS_PER_BATCH);
    for (const runId of runIds) await deleteRun(tx, runId);
    return runIds.length;
  });
}

/**
 * Deletes the oldest runs' events: first those past the maximum age, then more until the total size is within its
 * limit.
 */
async function deleteEvents(db: Db, { days, bytes }: RetentionLimit): Promise<number> {
  if (days === undefined && bytes === undefined) return 0;
  const before = days === undefined ? undefined : await daysAgo(db, days);
  const now = await daysAgo(db, 0);
  let excess = 0;
  if (bytes !== undefined) {
    const measured = await measureEvents(db);
    excess = measured.rows - bytes / measured.bytes;
  }
  let deleted = 0;
  for (let after = FIRST_ID; ; ) {
    // While the size limit is exceeded, runs are processed one at a time, so that no more than necessary is deleted.
    const runIds = await listRunsWithEvents(db, after, excess > 0 ? 1 : RUNS_PER_BATCH);
    const last = runIds.at(-1);
    const cutoff = excess > 0 ? now : before;
    if (last === undefined || cutoff === undefined || isCreatedAfter(runIds[0] as string, cutoff))
      return deleted;
    const removed = await batch(db, (tx) => removeEvents(tx, runIds, cutoff));
    if (!removed) return deleted;
    deleted += removed.events;
    excess -= removed.events;
    after = last;
  }
}

/**
 * Run IDs are UUIDv7, which starts with the creation time in milliseconds. A run never ends before its creation, so a
 * run created after `time` also ended after it.
 */
function isCreatedAfter(runId: string, time: string): boolean {
  return Number.parseInt(runId.replaceAll("-", "").slice(0, 12), 16) > Date.parse(time);
}
