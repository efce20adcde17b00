import { DEFAULT_POOL, type PoolDemand } from "@outrider/contract/worker-pool";
import type { Sql } from "../connection/db.ts";

/** Any member can name a pool, so the number of pools that responses and metrics contain is limited. */
const MAX_POOLS = 100;

/**
 * Returns the runs and workers of each pool with connected workers or open runs, and of the default pool; those with workers
 * first, then those with most queued runs. With `pool`, returns only that pool, even if it has neither.
 */
export async function listDemand(
  sql: Sql,
  { aliveMs, pool }: { aliveMs: number; pool?: string | undefined },
): Promise<PoolDemand[]> {
  return sql<PoolDemand[]>`
    with runs as materialized (
      select coalesce(r.pool, ${DEFAULT_POOL}) as pool, sum(h.queued)::int as queued, sum(h.running)::int as running,
        min(h.oldest) as oldest
      from (
        select requirement_id, count(*) filter (where execution_id is null) as queued, count(execution_id) as running,
          min(queued_at) filter (where state = 'QUEUED') as oldest
        from run_state where state in ('QUEUED', 'INPROGRESS') group by requirement_id
      ) h left join worker_requirements r using (requirement_id) group by 1
    ),
    used as materialized (
      select worker_id, count(*) as runs from run_state where state = 'INPROGRESS' and execution_id is not null group by worker_id
    ),
    connected as materialized (
      select w.pool, count(*)::int as workers, sum(w.slots)::int as slots,
        sum(greatest(w.slots - coalesce(u.runs, 0), 0))::int as free
      from workers w left join used u using (worker_id)
      where w.last_seen_at > outrider_now() - ${aliveMs} * interval '1 ms' and not w.draining group by w.pool
    )
    select p.pool, coalesce(r.queued, 0) as queued, coalesce(r.running, 0) as running, coalesce(c.workers, 0) as workers,
      coalesce(c.slots, 0) as slots, coalesce(c.free, 0) as free,
      greatest(coalesce(extract(epoch from outrider_now() - r.oldest), 0), 0)::float8 as oldest_wait_seconds
    from (
      select ${pool ?? DEFAULT_POOL} as pool
      ${pool === undefined ? sql`union select pool from runs union select pool from connected` : sql``}
    ) p left join runs r on r.pool = p.pool left join connected c on c.pool = p.pool
    order by p.pool <> ${DEFAULT_POOL}, coalesce(c.workers, 0) = 0, coalesce(r.queued, 0) desc, p.pool limit ${MAX_POOLS}`;
}
