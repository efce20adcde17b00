import type { Db, Sql } from "../connection/db.ts";
import { daysAgo } from "../retention.ts";
import { INSTALLATION } from "./rollups.ts";

export interface DueTasks {
  has_changes: boolean;
  has_uncounted: boolean;
  is_sample_due: boolean;
  is_cleanup_due: boolean;
}

/** Returns what there is to do. This is the only statement that an idle server executes for usage. */
export async function findDueTasks(sql: Sql): Promise<DueTasks> {
  const [row] = await sql<DueTasks[]>`
    select exists (select 1 from usage_changes) as has_changes,
      exists (select 1 from runs where counted_state is null) as has_uncounted,
      bool_or(name = 'load' and done_at <= outrider_now() - interval '55 s') as is_sample_due,
      bool_or(name = 'cleanup' and done_at <= outrider_now() - interval '1 hour') as is_cleanup_due
    from usage_tasks`;
  return row as DueTasks;
}

/** Folds changes into rollups. Returns the number of changes, which is 0 while another server folds. */
export async function foldChanges(sql: Sql, limit: number): Promise<number> {
  const [row] = await sql<{ folded: number }[]>`select outrider_fold_usage(${limit}) as folded`;
  return row?.folded ?? 0;
}

/** Frees the space of folded changes. After many of them, looking for new ones would read all of their pages. */
export async function vacuumChanges(db: Db): Promise<void> {
  await db`vacuum usage_changes`;
}

/**
 * Counts runs after `after` that a version without usage created, by letting the trigger look at them. Returns the last of
 * them, or undefined if there are none. Runs that are locked are skipped, so this never waits for a run.
 */
export async function countUncountedRuns(
  sql: Sql,
  { after, limit }: { after: string; limit: number },
): Promise<string | undefined> {
  const [row] = await sql<{ last: string | null }[]>`
    with uncounted as materialized (
      select run_id from runs where counted_state is null and run_id > ${after} order by run_id limit ${limit}
      for no key update skip locked
    ),
    counted as (
      update runs r set counted_state = null from uncounted u where r.run_id = u.run_id returning r.run_id
    )
    select max(run_id::text) as last from counted`;
  return row?.last ?? undefined;
}

/** More than any installation needs. The limit exists because a worker key can register any number of workers. */
const MAX_WORKERS = 1_000;

/**
 * Adds a sample of the load: to intervals of 5 minutes and of an hour for the installation, and of 15 minutes for each
 * worker. Does nothing if another server has done so in the last minute.
 */
export async function sampleLoad(sql: Sql, aliveMs: number): Promise<boolean> {
  const { count } = await sql`
    with due as (
      update usage_tasks set done_at = outrider_now() where name = 'load' and done_at <= outrider_now() - interval '55 s'
      returning done_at as now
    ),
    live as materialized (
      select w.worker_id, w.slots, w.draining from workers w, due
      where w.last_seen_at > due.now - ${aliveMs} * interval '1 ms' order by w.last_seen_at desc limit ${MAX_WORKERS}
    ),
    busy as materialized (
      select h.worker_id, count(*)::int as runs from run_state h, due where h.state = 'INPROGRESS' group by h.worker_id
    ),
    sample as (
      select ${INSTALLATION}::uuid as worker_id, i.seconds, due.now,
        (select count(*)::int from run_state where state = 'QUEUED') as queued,
        (select coalesce(sum(runs), 0)::int from busy) as running,
        (select coalesce(sum(slots) filter (where not draining), 0) from live) as slots, (select count(*) from live) as workers
      from due, (values (300), (3600)) i(seconds)
      union all
      select live.worker_id, 900, due.now, 0, coalesce(busy.runs, 0), live.slots, 1
      from due, live left join busy using (worker_id)
    )
    insert into usage_load as l (worker_id, interval_seconds, starts_at, samples, queued, queued_max, running, running_max,
      slots, workers)
    select worker_id, seconds, date_bin(seconds * interval '1 s', now, '2000-01-01T00:00:00Z'), 1, queued, queued, running,
      running, slots, workers
    from sample
    on conflict (worker_id, interval_seconds, starts_at) do update set
      samples = l.samples + 1, queued = l.queued + excluded.queued, queued_max = greatest(l.queued_max, excluded.queued_max),
      running = l.running + excluded.running, running_max = greatest(l.running_max, excluded.running_max),
      slots = l.slots + excluded.slots, workers = l.workers + excluded.workers`;
  return count > 0;
}

const KEPT_HOURS_DAYS = 15;
/** How long samples of the load are kept, by the length of their interval. */
const keptLoad = [
  { seconds: 300, days: 14 },
  { seconds: 900, days: 2 },
  { seconds: 3_600, days: 400 },
];

/**
 * Deletes what is older than its retention. Does nothing if another server has done so in the last hour. The statements
 * have the times as parameters, because the planner then knows that few rows are older.
 */
export async function deleteOldUsage(sql: Sql): Promise<void> {
  const [due] = await sql`
    update usage_tasks set done_at = outrider_now() where name = 'cleanup' and done_at <= outrider_now() - interval '1 hour'
    returning name`;
  if (!due) return;
  const lastHour = await daysAgo(sql, KEPT_HOURS_DAYS);
  await sql`delete from usage_rollups where granularity = 'hour' and starts_at < ${lastHour}`;
  for (const { seconds, days } of keptLoad) {
    const before = await daysAgo(sql, days);
    await sql`delete from usage_load where interval_seconds = ${seconds} and starts_at < ${before}`;
  }
}
