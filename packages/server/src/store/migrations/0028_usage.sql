-- Usage over time, without reading runs: every change of a run's state appends a row to usage_changes, and a background
-- task folds these rows into usage_rollups.

-- What usage_changes already contains of a run. Lists sort by cost_usd and run_seconds. A run whose counted_state is null
-- has not been counted: either it is older than this migration, or somebody asks for it to be counted again.
alter table runs
  add column cost_usd float8 not null default 0,
  add column run_seconds float8 not null default 0,
  add column input_tokens bigint not null default 0,
  add column cached_input_tokens bigint not null default 0,
  add column output_tokens bigint not null default 0,
  add column counted_state text;
create index runs_cost on runs (cost_usd, run_id);
create index runs_run_seconds on runs (run_seconds, run_id);
create index runs_uncounted on runs (run_id) where counted_state is null;

-- Append-only, so that runs never wait for each other, and without an index, so that a row costs little. A row moves a run
-- from one state to another in the interval of its creation, and adds its new usage to the interval of the change.
create table usage_changes (
  created_at timestamptz not null,
  changed_at timestamptz not null,
  environment_id uuid,
  model_id text not null,
  creator_type text not null,
  creator_uid uuid not null,
  source text not null,
  from_state text,
  to_state text,
  from_error text,
  to_error text,
  -- The run's duration before and after, if it has ended.
  from_seconds float8,
  to_seconds float8,
  wait_seconds float8,
  cost_usd float8 not null default 0,
  input_tokens bigint not null default 0,
  cached_input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  run_seconds float8 not null default 0
);

-- environment_id is the environment that the row is limited to, or zeros for the installation. The dimension is total, model,
-- environment, user, agent, source or failure. durations and waits are histograms with logarithmic bins.
create table usage_rollups (
  environment_id uuid not null,
  dimension text not null,
  granularity text not null check (granularity in ('hour', 'day')),
  starts_at timestamptz not null,
  key text not null,
  succeeded integer not null,
  failed integer not null,
  cancelled integer not null,
  unfinished integer not null,
  cost_usd float8 not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  output_tokens bigint not null,
  run_seconds float8 not null,
  durations integer[],
  waits integer[],
  primary key (environment_id, dimension, granularity, starts_at, key)
);
create index usage_rollups_hours on usage_rollups (starts_at) where granularity = 'hour';

-- Sums and maxima of the samples in an interval, for a worker, or for the installation if worker_id is zeros.
create table usage_load (
  worker_id uuid not null,
  interval_seconds integer not null,
  starts_at timestamptz not null,
  samples integer not null,
  queued bigint not null,
  queued_max integer not null,
  running bigint not null,
  running_max integer not null,
  slots bigint not null,
  workers bigint not null,
  primary key (worker_id, interval_seconds, starts_at)
);
create index usage_load_starts on usage_load (interval_seconds, starts_at);

-- When a server last did each task of usage, so that only one of them does it.
create table usage_tasks (
  name text primary key,
  done_at timestamptz not null
);
insert into usage_tasks (name, done_at) values ('fold', outrider_now()), ('load', '2000-01-01'), ('cleanup', '2000-01-01');

-- The migrator replaces the body with that of store/functions.
create function outrider_count_run() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger runs_count_created before insert on runs for each row
  when (new.counted_state is distinct from new.state) execute function outrider_count_run();
create trigger runs_count_changed before update on runs for each row
  when (new.counted_state is distinct from new.state) execute function outrider_count_run();
create trigger runs_count_deleted before delete on runs for each row
  when (old.counted_state in ('QUEUED', 'INPROGRESS', 'BLOCKED')) execute function outrider_count_run();
