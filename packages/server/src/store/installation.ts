import { randomUUID } from "node:crypto";
import type { Sql } from "./connection/db.ts";

/** Stores a fact about the installation unless it already exists. Returns the stored value. */
export async function ensureInstallationFact(sql: Sql, name: string, value: string): Promise<string> {
  await sql`insert into installation (name, value) values (${name}, ${value}) on conflict do nothing`;
  return (await findInstallationFact(sql, name)) ?? value;
}

/** Returns the id of the installation, which all servers with this database share. Chooses one if there is none. */
export async function ensureInstallationId(sql: Sql): Promise<string> {
  return await ensureInstallationFact(sql, "installation_id", randomUUID());
}

export async function findInstallationId(sql: Sql): Promise<string | undefined> {
  return await findInstallationFact(sql, "installation_id");
}

export async function putInstallationFact(sql: Sql, name: string, value: string): Promise<void> {
  await sql`
    insert into installation (name, value) values (${name}, ${value})
    on conflict (name) do update set value = excluded.value where installation.value <> excluded.value`;
}

export async function findInstallationFact(sql: Sql, name: string): Promise<string | undefined> {
  const [row] = await sql<{ value: string }[]>`select value from installation where name = ${name}`;
  return row?.value;
}

/** Returns true at most once in this many hours, for all servers together. */
export async function isDue(sql: Sql, task: string, hours: number): Promise<boolean> {
  const rows = await sql`
    insert into installation (name, value) values (${task}, outrider_now()::text)
    on conflict (name) do update set value = excluded.value
      where installation.value::timestamptz < outrider_now() - make_interval(hours => ${hours})
    returning 1`;
  return rows.length > 0;
}
