import type { Role } from "@outrider/contract/auth/user";
import { limits } from "@outrider/contract/limits";
import type { Sql, Tx } from "../connection/db.ts";

export type SignedInBy = "link" | "password";

export interface NewSession {
  session_id: string;
  hash: Buffer;
  user_uid: string;
  signed_in_by: SignedInBy;
}

export interface SessionTimes {
  created_at: string;
  expires_at: string;
}

const { idleDays, maxDays } = limits.signIn;

export async function insertSession(tx: Tx, session: NewSession): Promise<SessionTimes> {
  const { session_id, hash, user_uid, signed_in_by } = session;
  const [row] = await tx<SessionTimes[]>`
    insert into sessions (session_id, hash, user_uid, signed_in_by, expires_at)
    values (${session_id}, ${hash}, ${user_uid}, ${signed_in_by},
      outrider_now() + make_interval(days => ${idleDays}))
    returning created_at, expires_at`;
  return row as SessionTimes;
}

/** A valid session, with everything that request handling needs to know about its user. */
export interface SessionOwner extends SessionTimes {
  session_id: string;
  signed_in_by: SignedInBy;
  user_uid: string;
  user_name: string;
  email: string;
  role: Role;
  has_password: boolean;
}

export async function findSessionOwner(sql: Sql, hash: Buffer): Promise<SessionOwner | undefined> {
  const [row] = await sql<SessionOwner[]>`
    select s.session_id, s.signed_in_by, s.created_at, s.expires_at, p.uid as user_uid,
      p.display_name as user_name, p.email, p.role, p.password_hash is not null as has_password
    from sessions s join users p on p.uid = s.user_uid
    where s.hash = ${hash} and s.ended_at is null and s.expires_at > outrider_now() and p.deleted_at is null`;
  return row;
}

/** Records that sessions were used and extends them, up to their maximum lifetime. */
export async function recordSessionUse(sql: Sql, sessionIds: string[]): Promise<void> {
  await sql`
    with used as (
      update sessions set last_used_at = outrider_now(), expires_at = greatest(expires_at, least(
        outrider_now() + make_interval(days => ${idleDays}), created_at + make_interval(days => ${maxDays})))
      where session_id = any(${sessionIds}::uuid[]) and ended_at is null and expires_at > outrider_now()
      returning user_uid
    )
    update users set last_seen_at = outrider_now() where uid in (select user_uid from used)`;
}

/** Ends a session. Returns false if it had already ended or does not exist. */
export async function endSession(sql: Sql, hash: Buffer): Promise<boolean> {
  const { count } = await sql`
    update sessions set ended_at = outrider_now() where hash = ${hash} and ended_at is null`;
  return count > 0;
}

/** Ends all of a user's sessions, except the given one. */
export async function endSessions(tx: Tx, userUid: string, except?: string): Promise<void> {
  await tx`
    update sessions set ended_at = outrider_now()
    where user_uid = ${userUid} and ended_at is null
      ${except ? tx`and session_id <> ${except}` : tx``}`;
}

/**
 * Deletes sessions that ended more than a day ago. More recent ones are kept, so that open streams can detect that
 * their session has ended.
 */
export async function deleteOldSessions(sql: Sql): Promise<void> {
  await sql`delete from sessions where least(expires_at, ended_at) < outrider_now() - interval '1 day'`;
}
