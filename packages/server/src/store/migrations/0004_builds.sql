-- A build is an environment made ready: repositories at certain commits, setup commands run. `key` is the hash of all that
-- goes into it. Among builds that are not finished no two have the same key, so the same content is made once.
create table builds (
  build_id uuid primary key,
  environment_id uuid not null references environments,
  version integer not null,
  config jsonb not null,
  key text,
  state text not null check (state in ('QUEUED', 'BUILDING', 'READY', 'FAILED')),
  repositories jsonb,
  sha256 text,
  size_bytes bigint,
  status_message jsonb,
  -- Who makes it holds the token; a lease that has run out is taken by the next who wants it.
  worker_id uuid,
  token uuid,
  lease_expires_at timestamptz,
  attempt integer not null default 0,
  report_batch integer not null default 0,
  last_seq integer not null default 0,
  created_at timestamptz not null default outrider_now(),
  started_at timestamptz,
  finished_at timestamptz
);
create unique index builds_unfinished on builds (key) where state in ('QUEUED', 'BUILDING');
create index builds_open on builds (created_at) where state in ('QUEUED', 'BUILDING');
create index builds_ready on builds (key, finished_at) where state = 'READY';
create index builds_environment on builds (environment_id, created_at);

create table build_events (
  build_id uuid not null references builds on delete cascade,
  seq integer not null,
  created_at timestamptz not null,
  type text not null,
  data jsonb not null,
  primary key (build_id, seq)
);

-- The build that a run started from, and goes on from in every later turn.
alter table runs add column build_id uuid references builds;
create index runs_build on runs (build_id) where build_id is not null;

-- When the current turn's agent began to work, and when it first did something that can be seen.
alter table run_heads add column working_at timestamptz, add column first_output_at timestamptz;

-- Of what a run has changed there is one patch, which grows with it.
create unique index artifacts_patch on artifacts (run_id) where type = 'PATCH';
