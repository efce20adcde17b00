-- Time has one source. Tests set outrider.now; everything else reads the clock. Milliseconds, as on the wire, so that
-- a cursor made from an answer finds its row again.
create function outrider_now() returns timestamptz language sql volatile parallel safe as $$
  select date_trunc('milliseconds',
    coalesce(nullif(current_setting('outrider.now', true), '')::timestamptz, clock_timestamp()))
$$;

create extension if not exists pg_trgm;

-- Facts about the installation itself, such as the fingerprint of its master key.
create table installation (
  name text primary key,
  value text not null
);

create table people (
  uid uuid primary key,
  email text not null,
  display_name text not null,
  role text not null check (role in ('admin', 'member')),
  created_at timestamptz not null default outrider_now()
);
create unique index people_email on people (lower(email));

create table environments (
  environment_id uuid primary key,
  name text collate "C" not null,
  config jsonb not null,
  version integer not null default 1,
  created_at timestamptz not null default outrider_now(),
  updated_at timestamptz not null default outrider_now(),
  deleted_at timestamptz
);

create table secrets (
  name text collate "C" primary key,
  sealed bytea not null,
  updated_at timestamptz not null default outrider_now()
);

create table identities (
  uid uuid primary key,
  owner_uid uuid not null references people,
  name text collate "C" not null,
  description text,
  model_id text,
  environment_id uuid references environments,
  created_at timestamptz not null default outrider_now(),
  updated_at timestamptz not null default outrider_now(),
  deleted_at timestamptz
);

create table keys (
  key_id uuid primary key,
  hash bytea not null unique,
  type text not null check (type in ('personal', 'agent', 'worker')),
  name text not null,
  prefix text not null,
  -- The person who answers for the key: its owner, the owner of its cloud agent, or who made the worker key.
  person_uid uuid not null references people,
  agent_uid uuid references identities,
  scopes text[] not null,
  limits jsonb,
  created_at timestamptz not null default outrider_now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  check ((type = 'agent') = (agent_uid is not null))
);
create index keys_person on keys (person_uid);
create index keys_agent on keys (agent_uid);

-- The wide row, which lists read. It changes only with state, title or follow-ups.
create table runs (
  run_id uuid primary key,
  title text collate "C" not null,
  prompt text not null,
  state text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  status_message jsonb,
  source text not null,
  creator_type text not null check (creator_type in ('user', 'service_account')),
  creator_uid uuid not null,
  key_id uuid not null references keys,
  config_name text,
  model_id text not null,
  environment_id uuid references environments,
  skill_spec text,
  agent_config jsonb not null,
  -- Literal values of MCP servers' env and headers, encrypted; agent_config holds them masked.
  sealed_config bytea,
  metadata jsonb,
  limits jsonb,
  output_schema jsonb,
  priority smallint not null default 0,
  trace_id text not null,
  search tsvector not null
);
create index runs_created on runs (created_at, run_id);
create index runs_updated on runs (updated_at, run_id);
create index runs_title on runs (title, run_id);
create index runs_state on runs (state, created_at, run_id);
create index runs_config_name on runs (config_name, created_at, run_id);
create index runs_model on runs (model_id, created_at, run_id);
create index runs_creator on runs (creator_uid, created_at, run_id);
create index runs_source on runs (source, created_at, run_id);
create index runs_environment on runs (environment_id, created_at, run_id);
create index runs_skill on runs (skill_spec, created_at, run_id);
create index runs_metadata on runs using gin (metadata jsonb_path_ops);
create index runs_search on runs using gin (search);
create index runs_title_words on runs using gin (title gin_trgm_ops);

-- The narrow row that is a run's lock: every writer begins by updating it, which makes event numbers gapless and
-- visible in order. No index on what changes often.
create table run_heads (
  run_id uuid primary key references runs on delete cascade,
  state text not null check (state in ('QUEUED', 'INPROGRESS', 'BLOCKED', 'SUCCEEDED', 'FAILED', 'CANCELLED')),
  phase text not null,
  turn integer not null default 1,
  attempt integer not null default 0,
  last_seq integer not null default 0
) with (fillfactor = 70);

create table events (
  run_id uuid not null references runs on delete cascade,
  seq integer not null,
  type text not null,
  created_at timestamptz not null,
  turn integer not null,
  attempt integer not null,
  data jsonb not null,
  primary key (run_id, seq)
);

create table followups (
  followup_id uuid primary key,
  run_id uuid not null references runs on delete cascade,
  position bigint generated always as identity,
  message text not null,
  mode text not null check (mode in ('auto', 'queue', 'interrupt')),
  delivery text not null default 'queued' check (delivery in ('queued', 'delivered', 'withdrawn')),
  seq integer,
  created_at timestamptz not null
);
create index followups_run on followups (run_id, position);

create table attachments (
  run_id uuid not null references runs on delete cascade,
  followup_id uuid references followups on delete cascade,
  position smallint not null,
  file_name text not null,
  mime_type text not null,
  data bytea not null
);
create index attachments_run on attachments (run_id);

create table idempotency_keys (
  owner_uid uuid not null,
  method text not null,
  path text not null,
  key text collate "C" not null,
  fingerprint bytea not null,
  status smallint,
  headers jsonb,
  body text,
  created_at timestamptz not null default outrider_now(),
  primary key (owner_uid, method, path, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
