import type { Sql, Tx } from "../connection/db.ts";

/** Stores a link that replaces the user's previous one. Returns its expiry time. */
export async function putSignInLink(
  sql: Sql,
  { user_uid, hash, hours }: { user_uid: string; hash: Buffer; hours: number },
): Promise<string> {
  const [row] = await sql<{ expires_at: string }[]>`
    insert into sign_in_links (user_uid, hash, expires_at)
    values (${user_uid}, ${hash}, outrider_now() + make_interval(hours => ${hours}))
    on conflict (user_uid) do update
      set hash = excluded.hash, expires_at = excluded.expires_at, created_at = outrider_now()
    returning expires_at`;
  return (row as { expires_at: string }).expires_at;
}

/** Returns the ID of the user that a valid link belongs to. */
export async function findSignInLink(sql: Sql, hash: Buffer): Promise<string | undefined> {
  const [row] = await sql<{ user_uid: string }[]>`
    select user_uid from sign_in_links where hash = ${hash} and expires_at > outrider_now()`;
  return row?.user_uid;
}

/** Consumes a valid link. If several callers try, exactly one of them gets true. */
export async function takeSignInLink(tx: Tx, hash: Buffer): Promise<boolean> {
  const { count } = await tx`
    delete from sign_in_links where hash = ${hash} and expires_at > outrider_now()`;
  return count > 0;
}

export async function deleteSignInLink(tx: Tx, userUid: string): Promise<void> {
  await tx`delete from sign_in_links where user_uid = ${userUid}`;
}

export async function deleteExpiredSignInLinks(sql: Sql): Promise<void> {
  await sql`delete from sign_in_links where expires_at <= outrider_now()`;
}
