import type { Worker, WorkerInfo } from "@outrider/contract/worker";
import type { Sql } from "./db.ts";

/** Says that a worker lives, and answers whether it is to drain. */
export async function seeWorker(sql: Sql, { worker_id, name, version, slots }: WorkerInfo): Promise<boolean> {
  const [row] = await sql<{ draining: boolean }[]>`
    insert into workers as known (worker_id, name, version, slots) values (${worker_id}, ${name}, ${version}, ${slots})
    on conflict (worker_id) do update
      set name = excluded.name, version = excluded.version, slots = excluded.slots, last_seen_at = outrider_now()
    returning draining`;
  return row?.draining ?? false;
}

/** Each start of a worker is a worker of its own; those of the last day are worth knowing. */
export async function listWorkers(sql: Sql, aliveMs: number): Promise<Worker[]> {
  return sql<Worker[]>`
    select w.worker_id, w.name, w.version, w.slots, w.draining, w.first_seen_at, w.last_seen_at,
      (select count(*)::int from executions e where e.worker_id = w.worker_id and e.ended_at is null) as busy,
      array(
        select json_build_object('run_id', r.run_id, 'title', r.title) from executions e join runs r using (run_id)
        where e.worker_id = w.worker_id and e.ended_at is null order by e.claimed_at, e.execution_id limit 100
      ) as runs,
      w.last_seen_at > outrider_now() - ${aliveMs} * interval '1 ms' as is_alive
    from workers w where w.last_seen_at > outrider_now() - interval '1 day' order by is_alive desc, w.name, w.worker_id`;
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
