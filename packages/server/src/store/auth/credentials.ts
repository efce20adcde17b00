import type { Sql } from "../connection/db.ts";

/** Given the IDs of keys and sessions, returns those that are revoked, ended or expired. */
export async function findRevokedCredentials(sql: Sql, ids: string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`${revokedCredentials(sql, ids)}`;
  return rows.map((row) => row.id);
}

/** The same as a query, for use in a larger statement. */
export function revokedCredentials(sql: Sql, ids: string[]) {
  return sql`
    select key_id as id from keys
    where key_id = any(${ids}::uuid[]) and (revoked_at is not null or expires_at <= outrider_now())
    union all
    select session_id from sessions
    where session_id = any(${ids}::uuid[]) and (ended_at is not null or expires_at <= outrider_now())`;
}
