import { type Db, openDb, type Tx } from "../../packages/server/src/store/connection/db.ts";

/**
 * Fills a database with a year of runs. State, name, creator, environment, source and text are drawn independently of
 * each other and of the run's age, so that no filter can stand in for another. The database generates the rows itself,
 * which takes about a minute for a million runs and five more for 50 million events.
 */
export interface DatabaseSize {
  runs: number;
  /** The average: most runs have few events, some have many. */
  eventsPerRun: number;
  /** The key of all runs. */
  keyId: string;
}

export const USERS = 60;
export const ENVIRONMENTS = 30;

const verbs = "fix add remove explain review update rename test document speed-up split port migrate revert";
const nouns =
  "parser login cache queue worker invoice checkout session upload search index export report webhook scheduler router " +
  "limiter mailer cursor snapshot build lockfile changelog dashboard avatar currency calendar invitation password token";
const places =
  "server client android ios billing gateway docs website api admin console sandbox storage metrics alerts staging";
const details =
  "It fails about once in twenty attempts and never on a laptop. Keep the public interface as it is, add a test that fails " +
  "first, and say in the commit message what the cause was. The customer reported a timeout after large imports; logs are " +
  "attached to the ticket. Prefer a small change over a new dependency, and leave formatting of other files alone. Measure " +
  "before and after with the existing benchmark because memory matters more than latency here";

/** Skewed like real names: the first one is the most frequent. */
const names = Array.from({ length: 40 }, (_, index) => `agent-${String(index + 1).padStart(2, "0")}`);

export async function fillDatabase(db: Db, { runs, eventsPerRun, keyId }: DatabaseSize): Promise<void> {
  await db.begin(async (tx) => {
    // The rows are consistent by construction; checking foreign keys would take longer than writing them.
    await tx`set local session_replication_role = replica`;
    await tx`set local maintenance_work_mem = '1GB'`;
    await tx`set local statement_timeout = 0`;
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`
      insert into users (uid, email, display_name, role)
      select gen_random_uuid(), 'user' || n || '@example.com', 'User ' || n, 'member'
      from generate_series(1, ${USERS}::int) n`;
    await tx`
      insert into environments (environment_id, name, config)
      select gen_random_uuid(), 'environment ' || n, '{}' from generate_series(1, ${ENVIRONMENTS}::int) n`;
    const indexes = await tx<{ name: string; definition: string }[]>`
      select indexname as name, indexdef as definition from pg_indexes
      where tablename in ('runs', 'run_search') and indexname not in ('runs_pkey', 'run_search_pkey')`;
    for (const { name } of indexes) await tx`drop index ${tx(name)}`;
    await writeRuns(tx, { runs, eventsPerRun, keyId });
    await writeActiveCounts(tx);
    await writeEvents(tx);
    await writePullRequests(tx);
    for (const { definition } of indexes) await tx.unsafe(definition);
  });
  // The memory limit of a vacuum protects other processes. There are none here.
  await db`vacuum (analyze, buffer_usage_limit 0) runs, run_search, run_state, events, pull_requests, users, environments`;
}

/** Counts the active runs, because the triggers that do so are disabled. */
async function writeActiveCounts(tx: Tx): Promise<void> {
  await tx`
    insert into active_counts (kind, id, count)
    select n.kind, n.id, count(*) from run_state h cross join lateral (values
      ('installation', '00000000-0000-0000-0000-000000000000'::uuid), ('agent', h.owner_uid), ('key', h.key_id),
      ('environment', h.environment_id)) n(kind, id)
    where h.state = 'INPROGRESS' and n.id is not null group by n.kind, n.id`;
}

/** Few runs have a pull request, and few of these are still open. */
async function writePullRequests(tx: Tx): Promise<void> {
  await tx`
    insert into pull_requests (pull_request_id, run_id, path, forge_id, repository, number, url, branch, base, state, title,
      head_commit, pushed_commit, next_poll_at)
    select gen_random_uuid(), run_id, 'api', gen_random_uuid(), 'acme/api', row_number() over (), 'https://git.test', 'b',
      'main', case when random() < 0.02 then 'open' when random() < 0.1 then 'closed' else 'merged' end, title, '1', '1', null
    from runs where state = 'SUCCEEDED' and random() < 0.05`;
  await tx`update runs r set pull_request_state = p.state from pull_requests p where p.run_id = r.run_id`;
}

/** The values from which rows are drawn, as one row of arrays. */
function valuePool(tx: Tx) {
  return tx`
    select array(select uid from users order by email) as users,
      array(select environment_id from environments order by name) as environments,
      ${names}::text[] as names, ${verbs.split(" ")}::text[] as verbs, ${nouns.split(" ")}::text[] as nouns,
      ${places.split(" ")}::text[] as places, ${details.split(" ")}::text[] as details`;
}

async function writeRuns(tx: Tx, { runs, eventsPerRun, keyId }: DatabaseSize): Promise<void> {
  await tx`
    with known as materialized (${valuePool(tx)}),
    drawn as (
      select n, random() as word, ${pick(tx, "verbs", 1.5)} as verb, ${pick(tx, "nouns", 1.5)} as noun,
        ${pick(tx, "places", 1.5)} as place, details, floor(random() * 1e6) as ticket,
        date_trunc('milliseconds', outrider_now() - interval '1 year' * (1 - (n - random()) / ${runs}::float)) as created_at,
        date_trunc('milliseconds', interval '1 minute' * -10 * ln(1 - random())) as took,
        random() as fate,
        (array['API', 'API', 'API', 'API', 'CLI', 'CLI', 'GITHUB_ACTION', 'WEB_APP'])[1 + floor(random() * 8)] as source,
        ${pick(tx, "users", 2)} as creator_uid,
        case when random() < 0.6 then ${pick(tx, "names", 2)} end as config_name,
        case when random() < 0.7 then ${pick(tx, "environments", 2)} end as environment_id,
        case when random() < 0.3 then jsonb_build_object('team', 'team-' || floor(random() * 20), 'order', n::text) end as metadata,
        (array['scripted', 'larger', 'smaller'])[1 + floor(random() * 3)] as model_id
      from generate_series(1, ${runs}::int) n, known
    )
    insert into runs (run_id, title, prompt, state, created_at, updated_at, started_at, finished_at, source, creator_type,
      creator_uid, key_id, config_name, model_id, environment_id, agent_config, metadata, trace_id,
      status_message, run_seconds, cost_usd, counted_state)
    select
      (lpad(to_hex((extract(epoch from created_at) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3)
        || '8' || substr(md5(random()::text), 1, 15))::uuid,
      initcap(verb) || ' the ' || noun || ' in ' || place || ' (' || ticket || ')',
      initcap(verb) || ' the ' || noun || ' in ' || place || ', ticket ' || ticket || E'.\n\n'
        || array_to_string(details[1 + (word * 40)::int:36 + (word * 40)::int], ' '),
      state, created_at, created_at + took, created_at, case when is_final then created_at + took end,
      source, 'user', creator_uid, ${keyId}, config_name, model_id, environment_id,
      jsonb_build_object('model_id', model_id, 'idle_timeout_minutes', 10), metadata, 'year',
      case when state = 'FAILED' then jsonb_build_object('message', 'It failed.', 'error_code',
        (array['timeout', 'timeout', 'worker_lost', 'budget_exceeded'])[1 + floor(random() * 4)]) end,
      extract(epoch from took), extract(epoch from took) / 600,
      -- Otherwise the server would begin to count them for usage.
      state
    from drawn cross join lateral (
      select case when fate < 0.8 then 'SUCCEEDED' when fate < 0.92 then 'FAILED' when fate < 0.998 then 'CANCELLED'
        when fate < 0.9985 then 'QUEUED' when fate < 0.999 then 'INPROGRESS' else 'BLOCKED' end as state, fate < 0.998 as is_final
    ) ended`;
  await tx`
    insert into run_search (run_id, title, search, metadata)
    select run_id, title, array_to_tsvector(array_remove(string_to_array(
        lower(translate(title || ' ' || prompt, E'.,;()-\\n', '       ')), ' '), '')),
      metadata from runs`;
  // Open runs have recent timestamps, so that no timeout ends them during the benchmark.
  await tx`
    insert into run_state (run_id, state, phase, attempt, last_seq, owner_uid, key_id, environment_id, queued_at, execution_id,
      worker_id, lease_expires_at, turn_deadline_at, blocked_at)
    select run_id, state, case when state = 'QUEUED' then 'queued' when state = 'BLOCKED' then 'blocked'
        when state = 'INPROGRESS' then 'working' else 'done' end, 1, ceil(${eventsPerRun}::float * -ln(1 - random())), creator_uid,
      key_id, environment_id,
      case when state in ('SUCCEEDED', 'FAILED', 'CANCELLED') then created_at else outrider_now() end,
      case when state = 'INPROGRESS' then gen_random_uuid() end, case when state = 'INPROGRESS' then gen_random_uuid() end,
      case when state = 'INPROGRESS' then outrider_now() + interval '1 day' end,
      case when state = 'INPROGRESS' then outrider_now() + interval '1 day' end,
      case when state = 'BLOCKED' then outrider_now() end
    from runs`;
}

/** Picks a value of an array, earlier ones more often. */
function pick(tx: Tx, array: string, skew: number) {
  return tx`${tx(array)}[1 + floor(power(random(), ${skew}::float) * cardinality(${tx(array)}))::int]`;
}

async function writeEvents(tx: Tx): Promise<void> {
  await tx`
    insert into events (run_id, seq, type, created_at, turn, attempt, data)
    select run_id, seq, case when seq = 1 then 'run.created' when seq % 3 = 0 then 'message.agent' else 'command.output' end,
      h.queued_at + seq * interval '1 second', 1, 1,
      jsonb_build_object('text', repeat(md5(seq::text || run_id::text), 1 + seq % 8))
    from (select * from run_state order by run_id) h cross join lateral generate_series(1, h.last_seq) seq`;
}

// Run as a program, this fills the database of an existing installation.
if (import.meta.main) {
  const [url, runs = "1000000", events = "3"] = process.argv.slice(2);
  if (!url)
    throw new Error(
      "Pass a database: node bench/lists/fill-database.ts postgres://… [runs] [events of each]",
    );
  const db = openDb(url, { connections: 1 });
  const [key] = await db<{ key_id: string }[]>`select key_id from keys limit 1`;
  if (!key) throw new Error("The database has no key. Start Outrider with it once.");
  await fillDatabase(db, { runs: Number(runs), eventsPerRun: Number(events), keyId: key.key_id });
  await db.end();
}
