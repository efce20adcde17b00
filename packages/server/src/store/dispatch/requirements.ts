import { DEFAULT_POOL, type WorkerLabels } from "@outrider/contract/worker-pool";
import type { Sql } from "../connection/db.ts";
import { json } from "../connection/json.ts";

/** What a run requires of its worker. */
export interface Requirement {
  pool: string;
  /** Labels that the worker must have. */
  selector: WorkerLabels;
  /** If true, the worker must take runs with a harness. */
  needsHarness: boolean;
}

/** The pool and the labels of a worker. */
export interface WorkerPlace {
  pool: string;
  labels: WorkerLabels;
}

/** Each claim compares the labels of its workers with all requirements of their pool, so their number is limited. */
export const MAX_REQUIREMENTS = 1_000;

/**
 * Returns the ID of a requirement, and stores it if it is new. Returns null for runs that any worker of the default pool can
 * execute; run_state itself says whether these need a harness. Returns undefined if there are too many requirements.
 */
export async function storeRequirement(
  sql: Sql,
  { pool, selector, needsHarness }: Requirement,
): Promise<number | null | undefined> {
  if (pool === DEFAULT_POOL && Object.keys(selector).length === 0) return null;
  const find = async () => {
    const [row] = await sql<{ requirement_id: number }[]>`
      select requirement_id from worker_requirements
      where pool = ${pool} and selector = ${json(sql, selector)} and needs_harness = ${needsHarness}`;
    return row?.requirement_id;
  };
  const known = await find();
  if (known !== undefined) return known;
  const [added] = await sql<{ requirement_id: number }[]>`
    insert into worker_requirements (pool, selector, needs_harness)
    select ${pool}, ${json(sql, selector)}, ${needsHarness}
    where (select count(*) from worker_requirements) < ${MAX_REQUIREMENTS}
    on conflict do nothing returning requirement_id`;
  // A concurrent request may have stored it.
  return added?.requirement_id ?? (await find());
}

/** Returns a condition for the workers `w` that satisfy a requirement. */
export function satisfies(sql: Sql, { pool, selector, needsHarness }: Requirement) {
  return sql`w.pool = ${pool} and w.labels @> ${json(sql, selector)} ${needsHarness ? sql`and w.takes_harnesses` : sql``}`;
}

/** Returns a condition: whether workers of the place may build the environment with the ID in `column` and open shells in it. */
export function matchesEnvironment(sql: Sql, { pool, labels }: WorkerPlace, column: ReturnType<typeof sql>) {
  return sql`exists (
    select 1 from environments e
    where e.environment_id = ${column} and coalesce(e.config ->> 'worker_host', ${DEFAULT_POOL}) = ${pool}
      and ${json(sql, labels)}::jsonb @> coalesce(e.config -> 'worker_selector', '{}'))`;
}
