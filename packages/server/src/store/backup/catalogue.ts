import type { Sql } from "../db.ts";

/** What a database consists of, as it says itself: a table that a later migration adds is never forgotten. */

export interface Table {
  name: string;
  /** Without those that PostgreSQL computes. */
  columns: string[];
}

/** All but the record of migrations, which migrating writes. */
export async function listTables(sql: Sql): Promise<Table[]> {
  return sql<Table[]>`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and c.relname <> 'migrations'
      and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')
    group by c.relname order by c.relname`;
}

/** Whether there is anything that no extension has brought. */
export async function isEmpty(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (
      select 1 from pg_class c
      where c.relnamespace = current_schema::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
        and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')
    ) as found`;
  return row?.found === false;
}

/** The number that each sequence gave last. Sequences know no snapshots: it is that of the snapshot, or a later one. */
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
 * Takes away what would check or sort each row as it comes, and answers the statements that put it back: all rows at
 * once are checked and sorted sooner, and tables can come in any order.
 */
export async function setAside(sql: Sql): Promise<string[]> {
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
  // Backwards: a foreign key may need an index that stood before it.
  return parts.map(({ add }) => add).toReversed();
}
