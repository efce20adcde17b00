import { revokedCredentials } from "../auth/credentials.ts";
import type { Sql } from "../connection/db.ts";

/** Which kinds of work are waiting for a worker. */
export interface WaitingWork {
  has_runs: boolean;
  has_builds: boolean;
  /** One entry for each shell that can be taken: the claim that took it if its response may have been lost, or else null. */
  shell_claims: (string | null)[];
  /** Those of the given workers that drain. */
  draining: string[];
  /** Those of the given credentials that are revoked or expired. */
  revoked: string[];
}

const MAX_SHELLS = 100;

/** Returns which kinds of work are waiting. This is the only statement that a server with idle workers repeats. */
export async function findWaitingWork(
  sql: Sql,
  { workerIds, credentialIds }: { workerIds: string[]; credentialIds: string[] },
): Promise<WaitingWork> {
  const [row] = await sql<WaitingWork[]>`
    select outrider_has_waiting_runs(null) as has_runs,
      exists (
        select 1 from builds where state = 'QUEUED' or (state = 'BUILDING' and lease_expires_at <= outrider_now())
      ) as has_builds,
      (
        select coalesce(json_agg(claim_id), '[]') from (
          select case when state = 'OPENING' and lease_expires_at > outrider_now() then claim_id end as claim_id from shells
          where state = 'QUEUED' or (state = 'OPENING' and report_batch = 0) order by created_at limit ${MAX_SHELLS}
        ) takeable
      ) as shell_claims,
      array(select worker_id from workers where worker_id = any(${workerIds}::uuid[]) and draining) as draining,
      array(${revokedCredentials(sql, credentialIds)}) as revoked`;
  return row as WaitingWork;
}
