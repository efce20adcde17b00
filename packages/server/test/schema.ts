import type { Sql } from "../src/store/db.ts";

/** The last migration of the version before this one: `e2e/upgrade/previous.ts` says which version that is. */
export const previousMigration = 14;

interface Column {
  type: string;
  nullable: boolean;
  /** Whether who does not name it can write a row. */
  optional: boolean;
}

/** What statements of a server depend on. */
export interface Schema {
  columns: Map<string, Column>;
  functions: Map<string, string>;
  /** Rules on rows: checks, foreign keys, uniqueness. */
  rules: Map<string, string>;
}

export async function readSchema(sql: Sql): Promise<Schema> {
  const columns = await sql`
    select c.relname || '.' || a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      not a.attnotnull as nullable, not a.attnotnull or a.atthasdef or a.attidentity <> '' as optional
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped`;
  const functions = await sql`
    select p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' as name, pg_get_function_result(p.oid) as result
    from pg_proc p where p.pronamespace = 'public'::regnamespace and p.proname like 'outrider%'`;
  const rules = await sql`
    select conrelid::regclass::text || ' ' || conname as name, pg_get_constraintdef(oid) as rule
    from pg_constraint where connamespace = 'public'::regnamespace and contype in ('c', 'f', 'u')`;
  return {
    columns: new Map(columns.map(({ name, ...column }) => [name, column as unknown as Column])),
    functions: new Map(functions.map(({ name, result }) => [name, result])),
    rules: new Map(rules.map(({ name, rule }) => [name, rule])),
  };
}

const tableOf = (column: string) => column.split(".")[0] as string;

/** Why a server that knows the schema before cannot work with the one after; one sentence each. */
export function breaks(before: Schema, after: Schema): string[] {
  const tables = new Set([...before.columns.keys()].map(tableOf));
  const gone = [...before.columns].flatMap(([name, was]) => {
    const is = after.columns.get(name);
    if (!is) return [`${name} is gone.`];
    if (is.type !== was.type) return [`${name} was ${was.type} and is ${is.type}.`];
    return was.optional && !is.optional ? [`${name} must be given now.`] : [];
  });
  const demanded = [...after.columns].flatMap(([name, { optional }]) =>
    tables.has(tableOf(name)) && !before.columns.has(name) && !optional
      ? [`${name} is new and has no default.`]
      : [],
  );
  const functions = [...before.functions].flatMap(([name, result]) =>
    after.functions.get(name) === result ? [] : [`${name} is gone or answers something else.`],
  );
  const rules = [...after.rules].flatMap(([name, rule]) => {
    const isOld = before.rules.get(name) === rule;
    return isOld || !tables.has(name.split(" ")[0] as string) ? [] : [`${name} is a new rule: ${rule}.`];
  });
  return [...gone, ...demanded, ...functions, ...rules];
}
