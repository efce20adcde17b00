import type { Sql } from "../connection/db.ts";
import { INSTALLATION } from "../usage/rollups.ts";

/** The attributes that concurrency limits apply to: a run's owner, key and environment. */
export interface Dimensions {
  owner_uid: string;
  key_id: string;
  environment_id: string | null;
}

export interface ConcurrencyLimit {
  kind: "installation" | "agent" | "key" | "environment";
  max: number;
  /** The number of active runs. */
  active: number;
}

/**
 * Returns the concurrency limits that apply to a run with these dimensions: the installation's first, if there is one. The
 * number of active runs is looked up, not counted; see functions/outrider_fold_active.sql.
 */
export async function listConcurrencyLimits(
  sql: Sql,
  { owner_uid, key_id, environment_id }: Dimensions,
  maxTotal: number | undefined,
): Promise<ConcurrencyLimit[]> {
  return sql<ConcurrencyLimit[]>`
    select l.kind, l.max, outrider_count_active(l.kind, l.id) as active
    from (
      select 'installation' as kind, ${INSTALLATION}::uuid as id, ${maxTotal ?? null}::int as max
      union all
      select kind, id, max from concurrency_limits
      where (kind = 'agent' and id = ${owner_uid}) or (kind = 'key' and id = ${key_id})
        or (kind = 'environment' and id = ${environment_id}::uuid)
    ) l
    where l.max is not null order by array_position(array['installation', 'agent', 'key', 'environment'], l.kind)`;
}

/**
 * What reads all active runs does so less often if there are many: on average, it reads at most this many rows in a second. No
 * index can replace these reads, because each heartbeat changes the leases of a worker, and would have to change the index too.
 */
export const ACTIVE_READS_PER_SECOND = 16_000;

/** Returns an expression for the number of active runs in the installation. */
export function activeTotal(sql: Sql) {
  return sql`outrider_count_active('installation', ${INSTALLATION})`;
}
