import type { Sql } from "./db.ts";

/** Stores a fact about the installation unless it stands already; answers what stands. */
export async function settleFact(sql: Sql, name: string, value: string): Promise<string> {
  await sql`insert into installation (name, value) values (${name}, ${value}) on conflict do nothing`;
  const [row] = await sql<{ value: string }[]>`select value from installation where name = ${name}`;
  return row?.value ?? value;
}
