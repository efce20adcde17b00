import type { WorkerHarness } from "@outrider/contract/harness";
import { DEFAULT_SANDBOX, type SandboxControl, type SandboxEngine } from "@outrider/contract/sandbox-kind";
import type { Worker, WorkerInfo, WorkerStats } from "@outrider/contract/worker";
import type { Sql } from "../connection/db.ts";
import { json } from "../connection/json.ts";
import { activeTotal } from "./active-runs.ts";
import { ownLabels, type Requirement, SANDBOX_LABEL, sandboxOf, satisfies } from "./requirements.ts";

/** Returns the kind of sandboxes of a worker. */
export async function findSandboxOf(sql: Sql, workerId: string): Promise<string> {
  const [row] = await sql<[{ sandbox: string }]>`select ${sandboxOf(sql, sql`${workerId}`)} as sandbox`;
  return row.sandbox;
}

/** Records that a worker is alive, along with its stats if given. Returns whether the worker should drain. */
export async function recordWorker(
  sql: Sql,
  { worker_id, name, version, slots }: WorkerInfo,
  stats?: WorkerStats,
): Promise<boolean> {
  const [row] = await sql<{ draining: boolean }[]>`
    insert into workers as known (worker_id, name, version, slots, stats, stats_at)
    values (${worker_id}, ${name}, ${version}, ${slots}, ${json(sql, stats)},
      case when ${stats !== undefined} then outrider_now() end)
    on conflict (worker_id) do update
      set name = excluded.name, version = excluded.version, slots = excluded.slots, last_seen_at = outrider_now(),
        stats = coalesce(excluded.stats, known.stats), stats_at = coalesce(excluded.stats_at, known.stats_at)
    returning draining`;
  return row?.draining ?? false;
}

/** Records that registered workers are alive. A row that is being written is skipped, because its writer records the same. */
export async function recordSeen(sql: Sql, workerIds: string[]): Promise<void> {
  await sql`
    with seen as materialized (
      select worker_id from workers
      where worker_id = any(${workerIds}::uuid[]) and last_seen_at <= outrider_now() - interval '3 s'
      for no key update skip locked
    )
    update workers w set last_seen_at = outrider_now() from seen where w.worker_id = seen.worker_id`;
}

/**
 * Registers a worker with a key, unless another key has already registered it. Returns the key that the worker belongs
 * to.
 */
export async function bindWorker(
  sql: Sql,
  { worker_id, name, version, slots }: WorkerInfo,
  keyId: string,
): Promise<string> {
  const [row] = await sql<{ key_id: string }[]>`
    insert into workers as known (worker_id, name, version, slots, key_id)
    values (${worker_id}, ${name}, ${version}, ${slots}, ${keyId})
    on conflict (worker_id) do update set key_id = coalesce(known.key_id, excluded.key_id)
    returning key_id`;
  return row?.key_id as string;
}

/** Returns the key that a worker belongs to. Returns undefined if the worker is not registered with a key. */
export async function findWorkerKey(sql: Sql, workerId: string): Promise<string | undefined> {
  const [row] = await sql<{ key_id: string | null }[]>`
    select key_id from workers where worker_id = ${workerId}`;
  return row?.key_id ?? undefined;
}

/** A live worker with its latest stats. */
export interface LiveWorker {
  worker_id: string;
  name: string;
  version: string;
  slots: number;
  draining: boolean;
  takes_harnesses: boolean;
  /** Null if the worker has not sent stats recently. */
  stats: WorkerStats | null;
}

/** More than any installation needs. The limit exists because a worker key can register any number of workers. */
const MAX_LISTED = 1_000;
/** Longer than the interval between two heartbeats with stats. */
const FRESH_SECONDS = 60;

const isFresh = (sql: Sql) => sql`stats_at > outrider_now() - ${FRESH_SECONDS} * interval '1 s'`;

export async function listLiveWorkers(sql: Sql, aliveMs: number): Promise<LiveWorker[]> {
  return sql<LiveWorker[]>`
    select worker_id, name, version, slots, draining, takes_harnesses,
      case when ${isFresh(sql)} then stats end as stats
    from workers where last_seen_at > outrider_now() - ${aliveMs} * interval '1 ms'
    order by first_seen_at, worker_id limit ${MAX_LISTED}`;
}

type Optional =
  | "accepts_runs"
  | "disk_free_bytes"
  | "sandbox"
  | "sandbox_engine"
  | "sandbox_controls"
  | "harnesses";

type WorkerRow = Omit<Worker, Optional> & {
  accepts_runs: boolean | null;
  disk_free_bytes: number | null;
  sandbox: string | null;
  sandbox_engine: SandboxEngine | null;
  sandbox_controls: Record<string, SandboxControl> | null;
  harnesses: WorkerHarness[] | null;
};

/**
 * Returns the workers that were active in the last day. Each start of a worker counts as a separate worker. With
 * `environmentIds`, the workers' runs in other environments are not listed.
 */
export async function listWorkers(sql: Sql, aliveMs: number, environmentIds?: string[]): Promise<Worker[]> {
  const rows = await sql<WorkerRow[]>`
    select w.worker_id, w.name, w.version, w.slots, w.pool, w.labels, w.draining, w.first_seen_at, w.last_seen_at,
      coalesce(w.stats ->> 'sandbox', nullif(w.labels ->> ${SANDBOX_LABEL}, ${DEFAULT_SANDBOX})) as sandbox,
      w.stats -> 'sandbox_engine' as sandbox_engine, w.stats -> 'sandbox_controls' as sandbox_controls,
      (select count(*)::int from executions e where e.worker_id = w.worker_id and e.ended_at is null) as busy,
      array(
        select json_build_object('run_id', r.run_id, 'title', r.title) from executions e join runs r using (run_id)
        where e.worker_id = w.worker_id and e.ended_at is null
          ${environmentIds ? sql`and r.environment_id = any(${environmentIds}::uuid[])` : sql``}
        order by e.claimed_at, e.execution_id limit 100
      ) as runs,
      (select floor(min(value::float8)) from jsonb_each_text(w.stats -> 'disk_free_bytes') where ${isFresh(sql)}) as disk_free_bytes,
      case when ${isFresh(sql)} then w.stats -> 'harnesses' end as harnesses,
      case when ${isFresh(sql)} then (w.stats ->> 'accepts_runs')::boolean end as accepts_runs,
      w.last_seen_at > outrider_now() - ${aliveMs} * interval '1 ms' as is_alive
    from workers w where w.last_seen_at > outrider_now() - interval '1 day' order by is_alive desc, w.name, w.worker_id`;
  return rows.map((row) => {
    const { accepts_runs, disk_free_bytes, sandbox, sandbox_engine, sandbox_controls, harnesses, ...worker } =
      row;
    return {
      ...worker,
      labels: ownLabels(worker.labels),
      ...(accepts_runs === null ? {} : { accepts_runs }),
      ...(disk_free_bytes === null ? {} : { disk_free_bytes }),
      ...(sandbox === null ? {} : { sandbox }),
      ...(sandbox_engine === null ? {} : { sandbox_engine }),
      ...(sandbox_controls === null ? {} : { sandbox_controls }),
      ...(harnesses === null ? {} : { harnesses }),
    };
  });
}

export async function drainWorker(sql: Sql, workerId: string): Promise<boolean> {
  const { count } = await sql`update workers set draining = true where worker_id = ${workerId}`;
  return count > 0;
}

/** Limits for counting unused slots if some workers are in another pool or have other labels. */
const MAX_FREE = 1_000;
const MAX_COUNTED_WORKERS = 1_000;

export interface Capacity {
  workers: number;
  /** The number of unused slots; at most MAX_FREE, of MAX_COUNTED_WORKERS, if only some of the workers satisfy the requirement. */
  free: number;
}

interface CapacityOptions {
  aliveMs: number;
  /** Only workers that satisfy it count. Default: all. */
  requirement?: Requirement;
}

const isAvailable = (sql: Sql, aliveMs: number) =>
  sql`w.last_seen_at > outrider_now() - ${aliveMs} * interval '1 ms' and not w.draining`;

/**
 * Returns common table expressions for a `with` clause. The last one, `slots`, has a single row with the fields of
 * Capacity. Active runs are counted only if some workers are in another pool or have other labels, because the number of
 * all active runs is known. They are counted worker by worker until enough free slots are found, so that the creation of a run
 * does not read all active runs.
 */
export function slots(sql: Sql, { aliveMs, requirement }: CapacityOptions) {
  const isAlive = isAvailable(sql, aliveMs);
  const isMatching = requirement ? satisfies(sql, requirement) : sql`true`;
  const isInPool = requirement ? satisfies(sql, { ...requirement, needsHarness: false }) : sql`true`;
  return sql`
    alive as materialized (
      select count(*) filter (where ${isMatching})::int as workers,
        coalesce(sum(w.slots) filter (where ${isMatching}), 0)::int as slots,
        coalesce(bool_and(${isInPool}), true) as are_all_in_pool
      from workers w where ${isAlive}
    ),
    slots as materialized (
      select workers, case when are_all_in_pool then greatest(slots - ${activeTotal(sql)}, 0) else (
        select count(*)::int from (
          select from (
            select w.worker_id, w.slots from workers w where ${isAlive} and ${isMatching} limit ${MAX_COUNTED_WORKERS}
          ) w cross join lateral generate_series(1, w.slots - (
            select count(*)::int from executions e where e.worker_id = w.worker_id and e.ended_at is null))
          limit ${MAX_FREE}
        ) free) end as free from alive
    )`;
}

/** Whether any of the workers has not reported that it accepts no runs. */
export async function hasReadyWorker(sql: Sql, { aliveMs, requirement }: CapacityOptions): Promise<boolean> {
  const rows = await sql`
    select from workers w
    where ${isAvailable(sql, aliveMs)} and ${requirement ? satisfies(sql, requirement) : sql`true`}
      and not coalesce(${isFresh(sql)} and (w.stats ->> 'accepts_runs')::boolean = false, false)
    limit 1`;
  return rows.length > 0;
}

export async function findCapacity(sql: Sql, options: CapacityOptions): Promise<Capacity> {
  const [row] = await sql<Capacity[]>`with ${slots(sql, options)} select workers, free from slots`;
  return row as Capacity;
}
