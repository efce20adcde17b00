import type { UsageLoadPoint } from "@outrider/contract/usage";
import type { Sql } from "../connection/db.ts";
import { INSTALLATION } from "./rollups.ts";

export interface LoadSelection {
  workerId?: string | undefined;
  from: string;
  to: string;
  /** The length of the stored intervals. */
  storedSeconds: number;
  /** The length of a point, a multiple of the stored intervals. */
  pointSeconds: number;
}

export async function listLoad(
  sql: Sql,
  { workerId, from, to, storedSeconds, pointSeconds }: LoadSelection,
): Promise<UsageLoadPoint[]> {
  const average = (column: string) => sql`round(sum(${sql(column)}) / sum(samples), 2)::float8`;
  return sql<UsageLoadPoint[]>`
    select date_bin(${pointSeconds} * interval '1 s', starts_at, '2000-01-01T00:00:00Z') as starts_at,
      ${average("queued")} as queued, max(queued_max) as queued_max, ${average("running")} as running,
      max(running_max) as running_max, ${average("slots")} as slots, ${average("workers")} as workers
    from usage_load
    where worker_id = ${workerId ?? INSTALLATION} and interval_seconds = ${storedSeconds}
      and starts_at >= ${from} and starts_at < ${to}
    group by 1 order by 1`;
}
