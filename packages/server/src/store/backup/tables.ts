import type { Sql } from "../connection/db.ts";

/* Reads the schema from the system catalogs, so that tables added by later migrations are included automatically. */

export interface Table {
  name: string;
  /** All columns except generated ones. */
  columns: string[];
}

/**
 * Returns all tables except `migrations`, which is filled when migrations are applied, and unlogged tables, whose data is
 * temporary.
 */
export async function listTables(sql: Sql): Promise<Table[]> {
  return sql<Table[]>`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relpersistence = 'p' and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and c.relname <> 'migrations'
      and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')
    group by c.relname order by c.relname`;
}

/** Returns whether the schema has no tables, views or sequences, apart from those that belong to extensions. */
export async function isEmpty(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (
      select 1 from pg_class c
      where c.relnamespace = current_schema::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
        and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')
    ) as found`;
  return row?.found === false;
}

/** Returns each sequence's last value. Sequences are not transactional, so a value may be newer than the snapshot. */
export async function listSequences(sql: Sql): Promise<Record<string, string>> {
  const rows = await sql<{ name: string; last: string }[]>`
    select sequencename as name, last_value::text as last from pg_sequences
    where schemaname = current_schema and last_value is not null order by 1`;
  return Object.fromEntries(rows.map(({ name, last }) => [name, last]));
}

export async function setSequences(sql: Sql, sequences: Record<string, string>): Promise<void> {
  for (const [name, last] of Object.entries(sequences))
    await sql`select setval(format('%I.%I', current_schema, ${name}::text)::regclass, ${last}::bigint)`;
}

export async function countRows(sql: Sql, table: string): Promise<number> {
  const [row] = await sql<{ rows: number }[]>`select count(*)::float as rows from ${sql(table)}`;
  return row?.rows as number;
}

/**
 * Drops foreign keys and indexes and returns the statements that recreate them. This makes loading faster and
 * independent of the order of tables.
 */
export async function dropIndexesAndForeignKeys(sql: Sql): Promise<string[]> {
  const parts = await sql<{ drop: string; add: string }[]>`
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
      format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as add
    from pg_constraint where connamespace = current_schema::regnamespace and contype = 'f' and conparentid = 0
    union all
    select format('drop index %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = current_schema::regnamespace and c.relkind in ('i', 'I') and not c.relispartition
      and not exists (select 1 from pg_constraint k where k.conindid = i.indexrelid)`;
  for (const { drop } of parts) await sql.unsafe(drop);
  // Recreates them in reverse order, because a foreign key may depend on an index.
  return parts.map(({ add }) => add).toReversed();
}
