import type { Sql, Tx } from "./connection/db.ts";
import { removeBundles } from "./staged-commits.ts";

/** An arbitrary advisory lock key that other applications are unlikely to use. */
const LOCK = 7_286_011_434;

/** Tries to acquire the lock that lets only one server at a time delete data. It is held until the transaction ends. */
export async function tryLockRetention(tx: Tx): Promise<boolean> {
  const [row] = await tx<{ taken: boolean }[]>`select pg_try_advisory_xact_lock(${LOCK}) as taken`;
  return row?.taken ?? false;
}

/** Waits for the retention lock, then blocks retention until the transaction ends. */
export async function blockRetention(tx: Tx): Promise<void> {
  await tx`select pg_advisory_xact_lock(${LOCK})`;
}

export async function daysAgo(sql: Sql, days: number): Promise<string> {
  const [row] = await sql<{ then: string }[]>`select outrider_now() - ${days} * interval '1 day' as then`;
  return row?.then as string;
}

/** Locks and returns the given runs that ended before `before`. Runs that are already locked are skipped. */
async function lockEnded(tx: Tx, runIds: string[], before: string): Promise<string[]> {
  const rows = await tx<{ run_id: string }[]>`
    select h.run_id from run_state h join runs r using (run_id)
    where h.run_id = any(${runIds}::uuid[]) and h.state in ('SUCCEEDED', 'FAILED', 'CANCELLED')
      and r.finished_at < ${before}
    order by h.run_id for update of h skip locked`;
  return rows.map(({ run_id }) => run_id);
}

/** Locks and returns the oldest runs that ended before `before`. */
export async function lockOldRuns(tx: Tx, before: string, limit: number): Promise<string[]> {
  const rows = await tx<{ run_id: string }[]>`
    select run_id from runs where created_at < ${before} and finished_at < ${before}
      and state in ('SUCCEEDED', 'FAILED', 'CANCELLED')
    order by created_at limit ${limit}`;
  return lockEnded(
    tx,
    rows.map(({ run_id }) => run_id),
    before,
  );
}

/**
 * Returns the next runs after `after` that have events, in order of ID and therefore of creation. It walks the index
 * from run to run, so it reads neither all events nor runs without events.
 */
export async function listRunsWithEvents(sql: Sql, after: string, limit: number): Promise<string[]> {
  const rows = await sql<{ run_id: string }[]>`
    with recursive logged (run_id) as (
      (select run_id from events where run_id > ${after} order by run_id limit 1)
      union all
      select (select e.run_id from events e where e.run_id > h.run_id order by e.run_id limit 1)
      from logged h where h.run_id is not null
    )
    select run_id from logged where run_id is not null limit ${limit}`;
  return rows.map(({ run_id }) => run_id);
}

/** Estimates the number of events and their average size from the database's statistics. */
export async function measureEvents(sql: Sql): Promise<{ rows: number; bytes: number }> {
  const [row] = await sql<{ rows: number; width: number }[]>`
    select coalesce((select n_live_tup from pg_stat_user_tables where relid = 'events'::regclass), 0)::float as rows,
      coalesce((select sum(avg_width) from pg_stats where schemaname = current_schema and tablename = 'events'), 0)::float
        as width`;
  // The row header and index entry take about 72 bytes.
  return { rows: row?.rows ?? 0, bytes: (row?.width ?? 0) + 72 };
}

/** Deletes the events of those given runs that ended before `before`. */
export async function removeEvents(
  tx: Tx,
  runIds: string[],
  before: string,
): Promise<{ runs: number; events: number }> {
  const ended = await lockEnded(tx, runIds, before);
  if (ended.length === 0) return { runs: 0, events: 0 };
  const { count } = await tx`delete from events where run_id = any(${ended}::uuid[])`;
  await tx`update runs set events_removed_at = outrider_now() where run_id = any(${ended}::uuid[])`;
  return { runs: ended.length, events: count };
}

/** Removes the snapshot and build from the oldest ended runs, which then cannot be continued. Artifacts are kept. */
export async function removeFiles(tx: Tx, before: string, limit: number): Promise<number> {
  const rows = await tx<{ run_id: string }[]>`
    select run_id from runs where (snapshot_sha256 is not null or build_id is not null) and finished_at < ${before}
    order by finished_at limit ${limit}`;
  const ended = await lockEnded(
    tx,
    rows.map(({ run_id }) => run_id),
    before,
  );
  await tx`
    update runs set snapshot_sha256 = null, snapshot_seq = null, build_id = null, files_removed_at = outrider_now()
    where run_id = any(${ended}::uuid[])`;
  await removeBundles(tx, ended);
  return ended.length;
}

/** Marks artifacts as removed. Their content is garbage-collected later, but the rows are kept. */
export async function removeArtifacts(tx: Tx, before: string, limit: number): Promise<number> {
  const { count } = await tx`
    update artifacts set removed_at = outrider_now() where artifact_id in (
      select a.artifact_id from artifacts a join run_state h using (run_id)
      where a.removed_at is null and a.created_at < ${before} and h.state in ('SUCCEEDED', 'FAILED', 'CANCELLED')
      order by a.created_at limit ${limit})`;
  return count;
}

/** Deletes builds that no run uses, except each environment's newest build, because the next run starts from it. */
export async function removeBuilds(tx: Tx, before: string, limit: number): Promise<number> {
  const { count } = await tx`
    delete from builds where build_id in (
      select b.build_id from builds b
      where b.finished_at < ${before} and not exists (select 1 from runs r where r.build_id = b.build_id)
        and exists (select 1 from builds n where n.environment_id = b.environment_id and n.state = 'READY'
          and (n.created_at, n.build_id) > (b.created_at, b.build_id))
      order by b.finished_at limit ${limit} for update skip locked)`;
  return count;
}

/**
 * Returns the time before which data must be deleted to meet a size limit, or undefined if the limit is already met.
 */
export async function findSizeCutoff(
  sql: Sql,
  kind: "artifacts" | "files" | "builds",
  bytes: number,
): Promise<string | undefined> {
  const sizes = {
    artifacts: sql`select created_at as at, size_bytes from artifacts where removed_at is null`,
    files: sql`
      select r.finished_at as at, b.size_bytes from runs r join blobs b on b.sha256 = r.snapshot_sha256
      where (r.snapshot_sha256 is not null or r.build_id is not null) and r.finished_at is not null`,
    // A chunk counts for the newest build that has it, because deleting the others does not free it.
    builds: sql`
      select finished_at as at, coalesce(size_bytes, 0) as size_bytes from builds b where finished_at is not null
        and not exists (select 1 from build_chunks c where c.build_id = b.build_id)
      union all
      select max(b.finished_at) as at, f.size_bytes from build_chunks c join builds b using (build_id)
        join blobs f on f.sha256 = c.sha256
      where b.finished_at is not null group by c.sha256, f.size_bytes`,
  };
  const [row] = await sql<{ at: string }[]>`
    select at + interval '1 ms' as at from (
      select at, sum(size_bytes) over (order by at desc rows unbounded preceding) as total from (${sizes[kind]}) one
    ) running where total > ${bytes} order by at desc limit 1`;
  return row?.at;
}
