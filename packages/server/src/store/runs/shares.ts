import type { Sql, Tx } from "../connection/db.ts";

export interface NewShare {
  run_id: string;
  hash: Buffer;
  expires_at: string;
}

/** Stores a share link that replaces the run's previous one. */
export async function putShare(tx: Tx, { run_id, hash, expires_at }: NewShare): Promise<void> {
  await tx`
    insert into shares (run_id, hash, expires_at) values (${run_id}, ${hash}, ${expires_at})
    on conflict (run_id) do update
      set hash = excluded.hash, expires_at = excluded.expires_at, created_at = outrider_now()`;
}

/** Returns the ID of the run that a valid share link refers to. */
export async function findSharedRunId(sql: Sql, hash: Buffer): Promise<string | undefined> {
  const [row] = await sql<{ run_id: string }[]>`
    select run_id from shares where hash = ${hash} and expires_at > outrider_now()`;
  return row?.run_id;
}

export async function deleteShare(tx: Tx, runId: string): Promise<void> {
  await tx`delete from shares where run_id = ${runId}`;
}

export async function deleteExpiredShares(sql: Sql): Promise<void> {
  await sql`delete from shares where expires_at <= outrider_now()`;
}
