import type { Sql } from "./connection/db.ts";

export async function listModelKeys(sql: Sql): Promise<{ provider: string; sealed: Buffer }[]> {
  return sql<{ provider: string; sealed: Buffer }[]>`select provider, sealed from model_keys`;
}

export async function putModelKey(sql: Sql, provider: string, sealed: Buffer): Promise<void> {
  await sql`
    insert into model_keys (provider, sealed) values (${provider}, ${sealed})
    on conflict (provider) do update set sealed = excluded.sealed, updated_at = outrider_now()`;
}

export async function deleteModelKey(sql: Sql, provider: string): Promise<void> {
  await sql`delete from model_keys where provider = ${provider}`;
}
