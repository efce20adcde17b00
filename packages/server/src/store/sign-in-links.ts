import type { Sql, Tx } from "./db.ts";

/** Takes the place of the link that the person had. Answers when it ends. */
export async function putSignInLink(
  sql: Sql,
  { person_uid, hash, hours }: { person_uid: string; hash: Buffer; hours: number },
): Promise<string> {
  const [row] = await sql<{ expires_at: string }[]>`
    insert into sign_in_links (person_uid, hash, expires_at)
    values (${person_uid}, ${hash}, outrider_now() + make_interval(hours => ${hours}))
    on conflict (person_uid) do update
      set hash = excluded.hash, expires_at = excluded.expires_at, created_at = outrider_now()
    returning expires_at`;
  return (row as { expires_at: string }).expires_at;
}

/** Whose link it is, while it is good. */
export async function findSignInLink(sql: Sql, hash: Buffer): Promise<string | undefined> {
  const [row] = await sql<{ person_uid: string }[]>`
    select person_uid from sign_in_links where hash = ${hash} and expires_at > outrider_now()`;
  return row?.person_uid;
}

/** Uses it up. True for one caller alone. */
export async function takeSignInLink(tx: Tx, hash: Buffer): Promise<boolean> {
  const { count } = await tx`
    delete from sign_in_links where hash = ${hash} and expires_at > outrider_now()`;
  return count > 0;
}

export async function deleteSignInLink(tx: Tx, personUid: string): Promise<void> {
  await tx`delete from sign_in_links where person_uid = ${personUid}`;
}

export async function deleteExpiredSignInLinks(sql: Sql): Promise<void> {
  await sql`delete from sign_in_links where expires_at <= outrider_now()`;
}
