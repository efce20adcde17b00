import type { Worker, WorkerFigures, WorkerInfo } from "@outrider/contract/worker";
import type { Sql } from "./db.ts";

/** Says that a worker lives, and how it fares if that is known, and answers whether it is to drain. */
export async function seeWorker(
  sql: Sql,
  { worker_id, name, version, slots }: WorkerInfo,
  figures?: WorkerFigures,
): Promise<boolean> {
  const [row] = await sql<{ draining: boolean }[]>`
    insert into workers as known (worker_id, name, version, slots, figures, figures_at)
    values (${worker_id}, ${name}, ${version}, ${slots}, ${figures ? sql.json(figures) : null},
      case when ${figures !== undefined} then outrider_now() end)
    on conflict (worker_id) do update
      set name = excluded.name, version = excluded.version, slots = excluded.slots, last_seen_at = outrider_now(),
        figures = coalesce(excluded.figures, known.figures), figures_at = coalesce(excluded.figures_at, known.figures_at)
    returning draining`;
  return row?.draining ?? false;
}

/** A worker that lives, and how it fares. */
export interface Faring {
  worker_id: string;
  name: string;
  version: string;
  slots: number;
  draining: boolean;
  /** Null where it has not said so lately, as one of the version before. */
  figures: WorkerFigures | null;
}

/** More than one installation has; who holds a worker's key could otherwise make up any number. */
const FARING = 1_000;
/** Longer than two heartbeats that say it are apart. */
const FRESH_SECONDS = 60;

const isFresh = (sql: Sql) => sql`figures_at > outrider_now() - ${FRESH_SECONDS} * interval '1 s'`;

export async function listFaring(sql: Sql, aliveMs: number): Promise<Faring[]> {
  return sql<Faring[]>`
    select worker_id, name, version, slots, draining,
      case when ${isFresh(sql)} then figures end as figures
    from workers where last_seen_at > outrider_now() - ${aliveMs} * interval '1 ms'
    order by first_seen_at, worker_id limit ${FARING}`;
}

/** Each start of a worker is a worker of its own; those of the last day are worth knowing. */
export async function listWorkers(sql: Sql, aliveMs: number): Promise<Worker[]> {
  const rows = await sql<(Worker & { disk_free_bytes: number | null })[]>`
    select w.worker_id, w.name, w.version, w.slots, w.draining, w.first_seen_at, w.last_seen_at,
      (select count(*)::int from executions e where e.worker_id = w.worker_id and e.ended_at is null) as busy,
      array(
        select json_build_object('run_id', r.run_id, 'title', r.title) from executions e join runs r using (run_id)
        where e.worker_id = w.worker_id and e.ended_at is null order by e.claimed_at, e.execution_id limit 100
      ) as runs,
      (select floor(min(value::float8)) from jsonb_each_text(w.figures -> 'disk_free_bytes') where ${isFresh(sql)}) as disk_free_bytes,
      w.last_seen_at > outrider_now() - ${aliveMs} * interval '1 ms' as is_alive
    from workers w where w.last_seen_at > outrider_now() - interval '1 day' order by is_alive desc, w.name, w.worker_id`;
  return rows.map(({ disk_free_bytes, ...worker }) =>
    disk_free_bytes === null ? worker : { ...worker, disk_free_bytes },
  );
}

export async function drainWorker(sql: Sql, workerId: string): Promise<boolean> {
  const { count } = await sql`update workers set draining = true where worker_id = ${workerId}`;
  return count > 0;
}

export interface Capacity {
  workers: number;
  /** Slots that nobody uses. */
  free: number;
}

/** For a statement's `with`: `slots` is the one row of a Capacity. */
export function slots(sql: Sql, aliveMs: number) {
  return sql`
    alive as materialized (
      select count(*)::int as workers, coalesce(sum(slots), 0)::int as slots from workers
      where last_seen_at > outrider_now() - ${aliveMs} * interval '1 ms' and not draining
    ),
    slots as materialized (
      select workers, greatest(slots - (select count(*)::int from run_heads where state = 'INPROGRESS'), 0) as free
      from alive
    )`;
}

export async function findCapacity(sql: Sql, aliveMs: number): Promise<Capacity> {
  const [row] = await sql<Capacity[]>`with ${slots(sql, aliveMs)} select workers, free from slots`;
  return row as Capacity;
}
