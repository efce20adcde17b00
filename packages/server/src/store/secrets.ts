import type { Secret } from "@outrider/contract/secret";
import type { Sql } from "./connection/db.ts";

export async function putSecret(sql: Sql, name: string, sealed: Buffer): Promise<Secret> {
  const [row] = await sql<Secret[]>`
    insert into secrets (name, sealed) values (${name}, ${sealed})
    on conflict (name) do update set sealed = excluded.sealed, updated_at = outrider_now()
    returning name, updated_at`;
  return row as Secret;
}

export async function listSecrets(sql: Sql): Promise<Secret[]> {
  return sql<Secret[]>`select name, updated_at from secrets order by name`;
}

/**
 * Locks secrets and returns the names that exist. The lock prevents an environment from starting to use a secret that
 * is being deleted, and vice versa.
 */
export async function lockSecrets(sql: Sql, names: string[]): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select name from secrets where name = any(${names}::text[]) order by name for update`;
  return rows.map((row) => row.name);
}

export async function deleteSecret(sql: Sql, name: string): Promise<void> {
  await sql`delete from secrets where name = ${name}`;
}

/** Returns encrypted secrets. They must be decrypted only for a worker. */
export async function listSealedSecrets(
  sql: Sql,
  names: string[],
): Promise<{ name: string; sealed: Buffer }[]> {
  return sql<{ name: string; sealed: Buffer }[]>`
    select name, sealed from secrets where name = any(${names}::text[])`;
}
