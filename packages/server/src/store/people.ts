import type { Role, Person as Shown } from "@outrider/contract/person";
import type { Sql, Tx } from "./db.ts";
import { present } from "./runs.ts";

export interface Person {
  uid: string;
  email: string;
  display_name: string;
  role: Role;
}

export async function insertPerson(sql: Sql, person: Person): Promise<boolean> {
  const { count } = await sql`
    insert into people ${sql(person, "uid", "email", "display_name", "role")} on conflict do nothing`;
  return count > 0;
}

export async function listPeople(sql: Sql): Promise<Shown[]> {
  const rows = await sql<Shown[]>`
    select ${columns(sql)} from people where deleted_at is null order by lower(email)`;
  return rows.map(present);
}

export async function findPerson(sql: Sql, uid: string): Promise<Shown | undefined> {
  const [row] = await sql<Shown[]>`
    select ${columns(sql)} from people where uid = ${uid} and deleted_at is null`;
  return row && present(row);
}

export async function findPersonByEmail(sql: Sql, email: string): Promise<Person | undefined> {
  const [row] = await sql<Person[]>`
    select uid, email, display_name, role from people
    where lower(email) = lower(${email}) and deleted_at is null`;
  return row;
}

/** Who had the address before and is deleted, too: their runs are still found by it. */
export async function listUidsByEmail(sql: Sql, emails: string[]): Promise<string[]> {
  const rows = await sql<{ uid: string }[]>`
    select uid from people where lower(email) in (select lower(email) from unnest(${emails}::text[]) as email)`;
  return rows.map(({ uid }) => uid);
}

/** The admins, whom nobody else changes until the transaction ends: so two cannot take each other for the other one left. */
export async function lockAdmins(tx: Tx): Promise<Person[]> {
  return tx<Person[]>`
    select uid, email, display_name, role from people where role = 'admin' and deleted_at is null
    order by uid for update`;
}

export async function updatePerson(
  sql: Sql,
  uid: string,
  { display_name, role }: { display_name?: string | undefined; role?: Role | undefined },
): Promise<Shown | undefined> {
  const [row] = await sql<Shown[]>`
    update people set display_name = coalesce(${display_name ?? null}, display_name), role = coalesce(${role ?? null}, role)
    where uid = ${uid} and deleted_at is null
    returning ${columns(sql)}`;
  return row && present(row);
}

/** The row stays, as the creator of runs. */
export async function deletePerson(tx: Tx, uid: string): Promise<boolean> {
  const { count } = await tx`
    update people set deleted_at = outrider_now(), password_hash = null where uid = ${uid} and deleted_at is null`;
  return count > 0;
}

export interface Account extends Person {
  password_hash: string | null;
}

export async function findAccount(sql: Sql, email: string): Promise<Account | undefined> {
  const [row] = await sql<Account[]>`
    select uid, email, display_name, role, password_hash from people
    where lower(email) = lower(${email}) and deleted_at is null`;
  return row;
}

/**
 * Nobody deletes the person, or changes the password, until the transaction ends. Taken before anything else of the
 * person is touched, so that no two who do so wait for each other.
 */
export async function lockAccount(tx: Tx, uid: string): Promise<Account | undefined> {
  const [row] = await tx<Account[]>`
    select uid, email, display_name, role, password_hash from people
    where uid = ${uid} and deleted_at is null for update`;
  return row;
}

export async function storePasswordHash(tx: Tx, uid: string, hash: string): Promise<void> {
  await tx`update people set password_hash = ${hash} where uid = ${uid} and deleted_at is null`;
}

function columns(sql: Sql) {
  return sql`uid, email, display_name, role, password_hash is not null as has_password, created_at, last_seen_at`;
}
