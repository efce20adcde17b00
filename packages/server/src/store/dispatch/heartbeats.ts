import type { HeartbeatRequest } from "@outrider/contract/worker";
import type { Sql } from "../connection/db.ts";
import { json } from "../connection/json.ts";

/** What a worker's heartbeat achieved. */
export interface Renewal {
  /** The executions whose lease was renewed. */
  held: string[];
  draining: boolean;
}

interface Row extends Renewal {
  worker_id: string;
  is_complete: boolean;
}

/**
 * Records that workers are alive and renews their leases, except expired ones. Each worker may have only one heartbeat in
 * `heartbeats`.
 *
 * The statement waits for no lock, so that one worker's slow transaction delays no other worker and no deadlock is possible.
 * A worker is missing in the result if its row or the row of a run that it holds is locked, or if it is not registered.
 */
export async function recordHeartbeats(
  sql: Sql,
  heartbeats: HeartbeatRequest[],
  leaseMs: number,
): Promise<Map<string, Renewal>> {
  const workers = heartbeats.map(({ worker, stats }) => ({ ...worker, stats }));
  const workerIds = workers.map(({ worker_id }) => worker_id);
  const executions = heartbeats.flatMap(({ worker, executions: own }) =>
    own.map((execution) => ({ ...execution, worker_id: worker.worker_id })),
  );
  const runIds = executions.map(({ run_id }) => run_id);
  const tokens = executions.map(({ execution_id }) => execution_id);
  const holders = executions.map(({ worker_id }) => worker_id);
  const rows = await sql<Row[]>`
    with sent as materialized (
      select * from jsonb_to_recordset(${json(sql, workers)}::jsonb)
        as worker (worker_id uuid, name text, version text, slots integer, stats jsonb)
    ),
    held as materialized (
      select run_id, execution_id, worker_id
      from run_state join unnest(${runIds}::uuid[], ${tokens}::uuid[], ${holders}::uuid[])
        as execution (run_id, execution_id, worker_id) using (run_id, execution_id, worker_id)
      where run_id = any(${runIds}::uuid[]) and lease_expires_at > outrider_now()
    ),
    locked as materialized (
      select h.run_id from run_state h join held using (run_id)
      where h.execution_id = held.execution_id and h.worker_id = held.worker_id
        and h.lease_expires_at > outrider_now() and h.run_id = any(${runIds}::uuid[])
      for no key update of h skip locked
    ),
    renewed as (
      update run_state h set lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms'
      from locked where h.run_id = locked.run_id and h.run_id = any(${runIds}::uuid[])
      returning h.worker_id, h.execution_id
    ),
    present as materialized (
      select worker_id from workers where worker_id = any(${workerIds}::uuid[])
      for no key update skip locked
    ),
    recorded as (
      update workers w
      set name = sent.name, version = sent.version, slots = sent.slots, last_seen_at = outrider_now(),
        stats = coalesce(sent.stats, w.stats),
        stats_at = case when sent.stats is not null then outrider_now() else w.stats_at end
      from sent join present using (worker_id)
      where w.worker_id = sent.worker_id and w.worker_id = any(${workerIds}::uuid[])
      returning w.worker_id, w.draining
    )
    select worker_id, draining,
      array(select execution_id from renewed where renewed.worker_id = recorded.worker_id) as held,
      not exists (
        select 1 from held where held.worker_id = recorded.worker_id
          and held.execution_id not in (select execution_id from renewed)
      ) as is_complete
    from recorded`;
  return new Map(
    rows.flatMap(({ worker_id, held, draining, is_complete }) =>
      is_complete ? [[worker_id, { held, draining }]] : [],
    ),
  );
}
