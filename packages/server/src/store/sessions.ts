import { limits } from "@outrider/contract/limits";
import type { Role } from "@outrider/contract/person";
import type { Sql, Tx } from "./db.ts";

export type SignedInBy = "link" | "password";

export interface NewSession {
  session_id: string;
  hash: Buffer;
  person_uid: string;
  signed_in_by: SignedInBy;
}

export interface SessionTimes {
  created_at: string;
  expires_at: string;
}

const { idleDays, maxDays } = limits.signIn;

export async function insertSession(tx: Tx, session: NewSession): Promise<SessionTimes> {
  const { session_id, hash, person_uid, signed_in_by } = session;
  const [row] = await tx<SessionTimes[]>`
    insert into sessions (session_id, hash, person_uid, signed_in_by, expires_at)
    values (${session_id}, ${hash}, ${person_uid}, ${signed_in_by},
      outrider_now() + make_interval(days => ${idleDays}))
    returning created_at, expires_at`;
  return row as SessionTimes;
}

/** A session that is still good, with everything that a request must know about its person. */
export interface SessionOwner extends SessionTimes {
  session_id: string;
  signed_in_by: SignedInBy;
  person_uid: string;
  person_name: string;
  email: string;
  role: Role;
  has_password: boolean;
}

export async function findSessionOwner(sql: Sql, hash: Buffer): Promise<SessionOwner | undefined> {
  const [row] = await sql<SessionOwner[]>`
    select s.session_id, s.signed_in_by, s.created_at, s.expires_at, p.uid as person_uid,
      p.display_name as person_name, p.email, p.role, p.password_hash is not null as has_password
    from sessions s join people p on p.uid = s.person_uid
    where s.hash = ${hash} and s.ended_at is null and s.expires_at > outrider_now() and p.deleted_at is null`;
  return row;
}

/** Use puts the end off, but never behind the last day that the session may have. */
export async function noteSessionUse(sql: Sql, sessionIds: string[]): Promise<void> {
  await sql`
    with used as (
      update sessions set last_used_at = outrider_now(), expires_at = greatest(expires_at, least(
        outrider_now() + make_interval(days => ${idleDays}), created_at + make_interval(days => ${maxDays})))
      where session_id = any(${sessionIds}::uuid[]) and ended_at is null and expires_at > outrider_now()
      returning person_uid
    )
    update people set last_seen_at = outrider_now() where uid in (select person_uid from used)`;
}

/** Whether there was one to end. */
export async function endSession(sql: Sql, hash: Buffer): Promise<boolean> {
  const { count } = await sql`
    update sessions set ended_at = outrider_now() where hash = ${hash} and ended_at is null`;
  return count > 0;
}

/** All of a person's, or all but one. */
export async function endSessions(tx: Tx, personUid: string, except?: string): Promise<void> {
  await tx`
    update sessions set ended_at = outrider_now()
    where person_uid = ${personUid} and ended_at is null
      ${except ? tx`and session_id <> ${except}` : tx``}`;
}

/** Long enough behind the end that every stream has seen it. */
export async function deleteOldSessions(sql: Sql): Promise<void> {
  await sql`delete from sessions where least(expires_at, ended_at) < outrider_now() - interval '1 day'`;
}
