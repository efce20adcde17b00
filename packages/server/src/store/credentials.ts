import type { Sql } from "./db.ts";

/** Keys and sessions that are good no longer, out of those that open streams came with. */
export async function findSpentCredentials(sql: Sql, ids: string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select key_id as id from keys
    where key_id = any(${ids}::uuid[]) and (revoked_at is not null or expires_at <= outrider_now())
    union all
    select session_id from sessions
    where session_id = any(${ids}::uuid[]) and (ended_at is not null or expires_at <= outrider_now())`;
  return rows.map((row) => row.id);
}
