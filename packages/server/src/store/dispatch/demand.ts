import { DEFAULT_POOL, type PoolDemand } from "@outrider/contract/worker-pool";
import type { Sql } from "../connection/db.ts";

/** Stats of all open runs. */
export interface OpenRunStats {
  oldest_queued_seconds: number;
  leases_held: number;
  /** Expired leases that the reaper has not revoked yet. */
  leases_overdue: number;
  /** Runs that are waiting for another worker because theirs was lost. */
  recovering: number;
}

export interface Demand extends OpenRunStats {
  /** Those with workers first, then those with most queued runs. */
  pools: PoolDemand[];
}

interface Row extends PoolDemand, OpenRunStats {}

/**
 * Returns the runs and workers of each pool with connected workers or open runs, and of the default pool, and stats of all open
 * runs. It reads all open runs, in a single scan; engine/dispatch/demand.ts limits how often.
 */
export async function findDemand(sql: Sql, aliveMs: number): Promise<Demand> {
  const rows = await sql<Row[]>`
    with open as materialized (
      select requirement_id, worker_id, count(*) filter (where execution_id is null) as queued, count(execution_id) as running,
        count(*) filter (where execution_id is not null and lease_expires_at < (select outrider_now())) as overdue,
        count(*) filter (where state = 'INPROGRESS' and execution_id is null) as recovering,
        min(queued_at) filter (where state = 'QUEUED') as oldest
      from run_state where state in ('QUEUED', 'INPROGRESS') group by requirement_id, worker_id
    ),
    runs as materialized (
      select coalesce(r.pool, ${DEFAULT_POOL}) as pool, sum(o.queued)::int as queued, sum(o.running)::int as running,
        sum(o.overdue)::int as overdue, sum(o.recovering)::int as recovering, min(o.oldest) as oldest
      from open o left join worker_requirements r using (requirement_id) group by 1
    ),
    used as materialized (select worker_id, sum(running) as runs from open where running > 0 group by worker_id),
    connected as materialized (
      select w.pool, count(*)::int as workers, sum(w.slots)::int as slots,
        sum(greatest(w.slots - coalesce(u.runs, 0), 0))::int as free
      from workers w left join used u using (worker_id)
      where w.last_seen_at > outrider_now() - ${aliveMs} * interval '1 ms' and not w.draining group by w.pool
    ),
    total as materialized (
      select coalesce(sum(running), 0)::int as leases_held, coalesce(sum(overdue), 0)::int as leases_overdue,
        coalesce(sum(recovering), 0)::int as recovering,
        greatest(coalesce(extract(epoch from outrider_now() - min(oldest)), 0), 0)::float8 as oldest_queued_seconds
      from runs
    )
    select p.pool, coalesce(r.queued, 0) as queued, coalesce(r.running, 0) as running, coalesce(c.workers, 0) as workers,
      coalesce(c.slots, 0) as slots, coalesce(c.free, 0) as free,
      greatest(coalesce(extract(epoch from outrider_now() - r.oldest), 0), 0)::float8 as oldest_wait_seconds, total.*
    from (select ${DEFAULT_POOL} as pool union select pool from runs union select pool from connected) p
      left join runs r on r.pool = p.pool left join connected c on c.pool = p.pool cross join total
    order by p.pool <> ${DEFAULT_POOL}, coalesce(c.workers, 0) = 0, coalesce(r.queued, 0) desc, p.pool`;
  const [{ oldest_queued_seconds, leases_held, leases_overdue, recovering }] = rows as Row[] as [Row];
  const pools = rows.map(({ pool, queued, running, workers, slots, free, oldest_wait_seconds }) => ({
    ...{ pool, queued, running, workers, slots, free, oldest_wait_seconds },
  }));
  return { pools, oldest_queued_seconds, leases_held, leases_overdue, recovering };
}
