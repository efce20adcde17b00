import type { Sql } from "./connection/db.ts";
import { overduePublications, pushedPublications } from "./publications.ts";
import { duePullRequests } from "./pull-requests.ts";
import { overdueShells } from "./shells.ts";

/** Which background tasks have something to do. */
export interface DueWork {
  closeShells: boolean;
  reapPublications: boolean;
  openPullRequests: boolean;
  pollPullRequests: boolean;
}

export async function findDueWork(sql: Sql, { maxQueuedMs }: { maxQueuedMs: number }): Promise<DueWork> {
  const [row] = await sql<DueWork[]>`
    select exists (${overdueShells(sql)}) as "closeShells",
      exists (${overduePublications(sql, { maxQueuedMs })}) as "reapPublications",
      exists (${pushedPublications(sql)}) as "openPullRequests",
      exists (${duePullRequests(sql)}) as "pollPullRequests"`;
  return row as DueWork;
}
