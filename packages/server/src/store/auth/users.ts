import type { Role, User as UserView } from "@outrider/contract/auth/user";
import type { Sql, Tx } from "../connection/db.ts";
import { omitNulls } from "../runs/runs.ts";

const UNIQUE_VIOLATION = "23505";

export interface User {
  uid: string;
  email: string;
  display_name: string;
  role: Role;
}

export async function insertUser(sql: Sql, user: User): Promise<boolean> {
  const { count } = await sql`
    insert into users ${sql(user, "uid", "email", "display_name", "role")} on conflict do nothing`;
  return count > 0;
}

export async function listUsers(sql: Sql): Promise<UserView[]> {
  const rows = await sql<UserView[]>`
    select ${columns(sql)} from users where deleted_at is null order by lower(email)`;
  return rows.map(omitNulls);
}

export async function findUser(sql: Sql, uid: string): Promise<UserView | undefined> {
  const [row] = await sql<UserView[]>`
    select ${columns(sql)} from users where uid = ${uid} and deleted_at is null`;
  return row && omitNulls(row);
}

export async function findUserByEmail(sql: Sql, email: string): Promise<User | undefined> {
  const [row] = await sql<User[]>`
    select uid, email, display_name, role from users
    where lower(email) = lower(${email}) and deleted_at is null`;
  return row;
}

/**
 * Returns the IDs of the users with these email addresses. Deleted users are included, so that their runs can still be
 * found.
 */
export async function listUidsByEmail(sql: Sql, emails: string[]): Promise<string[]> {
  const rows = await sql<{ uid: string }[]>`
    select uid from users where lower(email) in (select lower(email) from unnest(${emails}::text[]) as email)`;
  return rows.map(({ uid }) => uid);
}

/** Locks and returns all admins, so that two concurrent transactions cannot remove the last two admins. */
export async function lockAdmins(tx: Tx): Promise<User[]> {
  return tx<User[]>`
    select uid, email, display_name, role from users where role = 'admin' and deleted_at is null
    order by uid for update`;
}

export async function updateUser(
  sql: Sql,
  uid: string,
  { display_name, role }: { display_name?: string | undefined; role?: Role | undefined },
): Promise<UserView | undefined> {
  const [row] = await sql<UserView[]>`
    update users set display_name = coalesce(${display_name ?? null}, display_name), role = coalesce(${role ?? null}, role)
    where uid = ${uid} and deleted_at is null
    returning ${columns(sql)}`;
  return row && omitNulls(row);
}

/** Changes the address that a user signs in with. Returns false if another user has it. */
export async function updateEmail(sql: Sql, uid: string, email: string): Promise<boolean> {
  try {
    const { count } = await sql`update users set email = ${email} where uid = ${uid} and deleted_at is null`;
    return count > 0;
  } catch (error) {
    if ((error as { code?: string }).code === UNIQUE_VIOLATION) return false;
    throw error;
  }
}

/** Marks a user as deleted and removes the password. The row is kept because runs refer to it. */
export async function deleteUser(tx: Tx, uid: string): Promise<boolean> {
  const { count } = await tx`
    update users set deleted_at = outrider_now(), password_hash = null where uid = ${uid} and deleted_at is null`;
  return count > 0;
}

export interface Account extends User {
  password_hash: string | null;
}

export async function findAccount(sql: Sql, email: string): Promise<Account | undefined> {
  const [row] = await sql<Account[]>`
    select uid, email, display_name, role, password_hash from users
    where lower(email) = lower(${email}) and deleted_at is null`;
  return row;
}

/**
 * Locks a user, so that no other transaction can delete the user or change the password. To avoid deadlocks, acquire
 * this lock before changing any of the user's other data.
 */
export async function lockAccount(tx: Tx, uid: string): Promise<Account | undefined> {
  const [row] = await tx<Account[]>`
    select uid, email, display_name, role, password_hash from users
    where uid = ${uid} and deleted_at is null for update`;
  return row;
}

export async function storePasswordHash(tx: Tx, uid: string, hash: string): Promise<void> {
  await tx`update users set password_hash = ${hash} where uid = ${uid} and deleted_at is null`;
}

function columns(sql: Sql) {
  return sql`uid, email, display_name, role, password_hash is not null as has_password, created_at, last_seen_at`;
}
