import type { Sql } from "../src/store/connection/db.ts";

/**
 * The last migration of the previous version; `e2e/upgrade/previous.ts` names that version. Migration 16 is the baseline:
 * databases of earlier versions upgrade with all servers stopped.
 */
export const previousMigration = 19;

/**
 * The SQL functions of the previous version, as name(arguments) → result. Their source is not part of a migration, so they
 * are recorded here. Names of arguments count too, because PostgreSQL cannot change them in an existing function.
 */
export const previousFunctions: Record<string, string> = {
  "outrider_append_events(p_run_id uuid, p_execution_id uuid, p_batch integer, p_events jsonb, p_phase text, p_usage jsonb, p_receipt jsonb, p_has_output boolean, p_deliver boolean)":
    "TABLE(last_seq integer, followups json)",
  "outrider_change_state(p_run_id uuid, p_execution_id uuid, p_from text[], p_to text, p_phase text, p_event jsonb, p_status_message jsonb, p_new_turn boolean, p_closing_ms integer, p_warm_minutes integer, p_final_batch integer)":
    "boolean",
  "outrider_claim(p_worker_id uuid, p_name text, p_version text, p_slots integer, p_request_id uuid, p_free integer, p_lease_ms integer, p_turn_ms bigint, p_max_total integer, p_history_size integer, p_only_run_id uuid)":
    "TABLE(draining boolean, run_id uuid, execution_id uuid, turn integer, attempt integer, usage jsonb, turn_left_ms double precision, agent_config jsonb, sealed_config bytea, limits jsonb, environment_secrets jsonb, environment_variables jsonb, has_environment boolean, output_schema jsonb, receipt jsonb, snapshot jsonb, history json)",
  "outrider_deliver_followups(p_run_id uuid, p_execution_id uuid, p_batch integer, p_steering boolean)":
    "TABLE(followup_id uuid, message text, mode text, seq integer, attachments jsonb)",
  "outrider_end_turn(p_run_id uuid, p_execution_id uuid, p_batch integer, p_events jsonb, p_phase text, p_usage jsonb, p_receipt jsonb, p_has_output boolean, p_state text, p_final_phase text, p_status_message jsonb, p_warm_minutes integer)":
    "boolean",
  "outrider_event_data(p_type text, p_data jsonb)": "jsonb",
  "outrider_followup_attachments(p_run_id uuid, p_followup_id uuid)": "jsonb",
  "outrider_insert_events(p_run_id uuid, p_last_seq integer, p_turn integer, p_attempt integer, p_events jsonb)":
    "void",
  "outrider_next_runs(p_worker_id uuid, p_free integer, p_max_total integer)": "uuid[]",
  "outrider_rate_share(p_wanted integer, p_remaining integer)": "integer",
  "outrider_reserve(p_run_id uuid, p_execution_id uuid, p_reservation_id uuid, p_cost double precision, p_usd double precision, p_max_total double precision)":
    "TABLE(is_limited boolean, refused_by text, limit_usd double precision, used_usd double precision)",
  "outrider_settle(p_run_id uuid, p_reservation_id uuid, p_cost double precision)": "void",
  "outrider_settle_reservation(p_reservation reservations, p_execution_id uuid, p_cost double precision)":
    "void",
  "outrider_take_rate_share(p_subject text, p_wanted integer, p_max integer, p_window_seconds integer)":
    "TABLE(window_start double precision, granted integer, remaining integer, left_ms double precision)",
};

interface Column {
  type: string;
  nullable: boolean;
  /** True if a row can be inserted without this column. */
  optional: boolean;
}

/** The parts of a database that a server's statements depend on. */
export interface Schema {
  columns: Map<string, Column>;
  functions: Map<string, string>;
  /** Constraints on rows: checks, foreign keys, uniqueness. */
  constraints: Map<string, string>;
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
  const constraints = await sql`
    select conrelid::regclass::text || ' ' || conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where connamespace = 'public'::regnamespace and contype in ('c', 'f', 'u')`;
  return {
    columns: new Map(columns.map(({ name, ...column }) => [name, column as unknown as Column])),
    functions: new Map(functions.map(({ name, result }) => [name, result])),
    constraints: new Map(constraints.map(({ name, definition }) => [name, definition])),
  };
}

const tableOf = (column: string) => column.split(".")[0] as string;

/** Returns why a server of the previous version cannot work with the new schema, one sentence per reason. */
export function findBreakingChanges(before: Schema, after: Schema): string[] {
  const tables = new Set([...before.columns.keys()].map(tableOf));
  const changed = [...before.columns].flatMap(([name, was]) => {
    const is = after.columns.get(name);
    if (!is) return [`${name} was removed.`];
    if (is.type !== was.type) return [`${name} changed from ${was.type} to ${is.type}.`];
    return was.optional && !is.optional ? [`${name} is now required.`] : [];
  });
  const required = [...after.columns].flatMap(([name, { optional }]) =>
    tables.has(tableOf(name)) && !before.columns.has(name) && !optional
      ? [`${name} is new and has no default.`]
      : [],
  );
  const functions = [...before.functions].flatMap(([name, result]) =>
    after.functions.get(name) === result ? [] : [`${name} was removed or returns another type.`],
  );
  const constraints = [...after.constraints].flatMap(([name, definition]) => {
    const isOld = before.constraints.get(name) === definition;
    return isOld || !tables.has(name.split(" ")[0] as string)
      ? []
      : [`${name} is a new constraint: ${definition}.`];
  });
  return [...changed, ...required, ...functions, ...constraints];
}
