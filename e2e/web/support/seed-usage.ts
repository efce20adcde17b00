import type { Db, Sql } from "../../../packages/server/src/store/connection/db.ts";
import { recordChanges } from "../../../packages/server/test/usage/record-changes.ts";
import type { TestInstallation } from "../../../packages/worker/test/installation.ts";

export interface SeedUsageOptions {
  runs?: number;
  /** The runs are spread over this many days until now, with fewer at night. */
  days?: number;
}

const environments = ["api", "web", "android", "billing", "docs", "infra", "search", "data"];
const users = ["Ada", "Grace", "Edsger", "Barbara", "Donald", "Radia", "Ken", "Margaret", "Linus", "Frances"];
const agents = ["nightly", "triage", "release"];
const models = ["scripted", "large-model", "small-model"];
/** Runs with the empty code have no error code, as those of earlier versions. */
const errors = [
  "environment_setup_failed",
  "timeout",
  "harness_failed",
  "worker_lost",
  "model_unavailable",
  "",
];

/**
 * Writes many runs with cost, tokens and durations by SQL and counts them, and two days of load. Lists show these runs too,
 * so that links from a chart to the runs behind it work. The indexes are built after the rows are written, which takes much
 * less time than updating them for each row, and while the fold of the service counts the runs.
 */
export async function seedUsage(
  { db }: Pick<TestInstallation, "db">,
  { runs = 200_000, days = 60 }: SeedUsageOptions = {},
): Promise<void> {
  const indexes = await db.begin(async (tx) => {
    const dropped = await dropIndexes(tx);
    // The rows are consistent by construction; checking foreign keys would take longer than writing them.
    await tx`set local session_replication_role = replica`;
    await tx`set local statement_timeout = 0`;
    await tx`select setseed(0.5)`;
    await tx`
      insert into environments (environment_id, name, config)
      select gen_random_uuid(), name, jsonb_build_object('repos', jsonb_build_array(
        jsonb_build_object('owner', 'acme', 'repo', name), jsonb_build_object('owner', 'acme', 'repo', 'shared')))
      from unnest(${environments}::text[]) name`;
    await tx`
      insert into users (uid, email, display_name, role)
      select gen_random_uuid(), lower(name) || '@example.com', name, 'member' from unnest(${users}::text[]) name`;
    await tx`
      insert into identities (uid, owner_uid, name)
      select gen_random_uuid(), (select uid from users order by email limit 1), name from unnest(${agents}::text[]) name`;
    await tx`
      create temporary table seeded on commit drop as
      with pool as materialized (
        select array(select environment_id from environments where name = any(${environments}::text[]) order by name) as environments,
          array(select uid from users where email like '%@example.com' order by email) as users,
          array(select uid from identities where name = any(${agents}::text[]) order by name) as agents
      )
      select n, gen_random_uuid() as run_id,
        date_trunc('milliseconds', outrider_now() - ${days} * interval '1 day' * power(random(), 1.2)) as created_at,
        case when random() < 0.85 then p.environments[1 + floor(power(random(), 2) * cardinality(p.environments))::int] end as environment_id,
        p.users[1 + floor(power(random(), 2) * cardinality(p.users))::int] as user_uid,
        p.agents[1 + floor(random() * cardinality(p.agents))::int] as agent_uid, random() < 0.2 as is_agent,
        (${models}::text[])[1 + floor(power(random(), 1.5) * ${models.length})::int] as model_id,
        (${errors}::text[])[1 + floor(power(random(), 2) * ${errors.length})::int] as error_code,
        (array['API', 'CLI', 'WEB_APP', 'WEB_APP', 'GITHUB_ACTION'])[1 + floor(random() * 5)::int] as source,
        random() as fate, 20 - 240 * ln(1 - random()) as seconds, 0.5 - 8 * ln(1 - random()) as wait
      from generate_series(1, ${runs}::int) n, pool p`;
    // Every third run of a night stays, so that charts have the shape of real ones.
    await tx`
      update seeded set created_at = created_at - interval '10 hours'
      where extract(hour from created_at) < 6 and random() < 0.67`;
    await tx`
      insert into runs (run_id, title, prompt, state, created_at, updated_at, started_at, finished_at, status_message, source,
        creator_type, creator_uid, model_id, environment_id, agent_config, trace_id, cost_usd, run_seconds, input_tokens,
        output_tokens, counted_state)
      select run_id, 'Seeded ' || n, 'Seeded ' || n, state, created_at, created_at + (wait + seconds) * interval '1 s',
        created_at + wait * interval '1 s', created_at + (wait + seconds) * interval '1 s',
        case when state = 'FAILED' then jsonb_strip_nulls(jsonb_build_object('message', 'It failed.', 'error_code', nullif(error_code, ''))) end, source,
        case when is_agent then 'service_account' else 'user' end, case when is_agent then agent_uid else user_uid end,
        model_id, environment_id, jsonb_build_object('model_id', model_id, 'idle_timeout_minutes', 10), 'seed-usage',
        case when model_id = 'scripted' then 0 else seconds / 600 end, seconds, (seconds * 900)::bigint, (seconds * 60)::bigint, state
      from seeded cross join lateral (
        select case when fate < 0.82 then 'SUCCEEDED' when fate < 0.95 then 'FAILED' else 'CANCELLED' end as state) s`;
    await tx`
      insert into run_search (run_id, title, search)
      select run_id, 'Seeded ' || n, array_to_tsvector(array['seeded', n::text]) from seeded`;
    await tx`
      insert into run_state (run_id, state, phase, attempt, owner_uid, key_id, environment_id, queued_at, usage)
      select r.run_id, r.state, 'done', 1, r.creator_uid, (select key_id from keys limit 1), r.environment_id, r.created_at,
        jsonb_build_object('input_tokens', r.input_tokens, 'cached_input_tokens', 0, 'output_tokens', r.output_tokens,
          'cost_usd', r.cost_usd, 'steps', 1, 'run_seconds', r.run_seconds)
      from runs r where r.trace_id = 'seed-usage'`;
    await tx`
      insert into usage_load (worker_id, interval_seconds, starts_at, samples, queued, queued_max, running, running_max, slots, workers)
      select '00000000-0000-0000-0000-000000000000', i.seconds, at, 1, load, load + 3, 4 + load / 2, 6 + load / 2, 16, 4
      from (values (300), (3600)) i(seconds)
      cross join lateral generate_series(date_bin(i.seconds * interval '1 s', outrider_now() - interval '2 days', '2000-01-01'),
        outrider_now() - interval '1 hour', i.seconds * interval '1 s') at
      cross join lateral (select (8 + 7 * sin(extract(epoch from at) / 7200))::int as load) l
      on conflict do nothing`;
    return dropped;
  });
  await Promise.all([recordChanges(db, "seed-usage"), createIndexes(db, indexes)]);
}

const tables = ["runs", "run_search", "run_state"];

/** Drops the indexes that no constraint needs and returns their definitions. */
async function dropIndexes(tx: Sql): Promise<string[]> {
  const indexes = await tx<{ name: string; definition: string }[]>`
    select x.indexrelid::regclass::text as name, pg_get_indexdef(x.indexrelid) as definition from pg_index x
    where x.indrelid = any(${tables}::regclass[])
      and not exists (select 1 from pg_constraint c where c.conindid = x.indexrelid)`;
  await tx.unsafe(`drop index ${indexes.map(({ name }) => name).join(", ")}`);
  return indexes.map(({ definition }) => definition);
}

async function createIndexes(db: Db, definitions: string[]): Promise<void> {
  await db.begin(async (tx) => {
    await tx`set local statement_timeout = 0`;
    await tx`set local maintenance_work_mem = '128MB'`;
    for (const definition of definitions) await tx.unsafe(definition);
    // A smaller sample suffices for the planner, because all columns have few values or evenly distributed ones.
    await tx`set local default_statistics_target = 20`;
    await tx.unsafe(`analyze ${tables.join(", ")}`);
  });
}

/** Replaces the load of all workers by these numbers of runs, one for each of the last quarters of an hour. */
export async function seedWorkerLoad(
  { db }: Pick<TestInstallation, "db">,
  { running }: { running: number[] },
): Promise<void> {
  await db.begin(async (tx) => {
    await tx`delete from usage_load where interval_seconds = 900`;
    await tx`
      insert into usage_load (worker_id, interval_seconds, starts_at, samples, queued, queued_max, running, running_max, slots, workers)
      select w.worker_id, 900, date_bin(interval '15 min', outrider_now(), '2000-01-01') - (${running.length} - n) * interval '15 min',
        1, 0, 0, load, load, w.slots, 1
      from workers w cross join unnest(${running}::int[]) with ordinality u(load, n)`;
  });
}
