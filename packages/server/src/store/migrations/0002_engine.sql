-- Leases and the queue, on the run's narrow row. Nothing here that changes while a run works is indexed: the one index
-- holds what can be claimed, is leased or waits for an answer, and changes with the state alone.
alter table run_heads
  add column owner_uid uuid,
  add column key_id uuid,
  add column environment_id uuid,
  add column priority smallint not null default 0,
  add column queued_at timestamptz not null default outrider_now(),
  add column execution_id uuid,
  add column worker_id uuid,
  add column lease_expires_at timestamptz,
  add column turn_deadline_at timestamptz,
  add column blocked_at timestamptz,
  -- Who held the lease when the run was ended from outside, and how long it may take to store what its sandbox left.
  add column closing_execution_id uuid,
  add column closing_until timestamptz,
  add column report_batch integer not null default 0,
  add column usage jsonb;

update run_heads h set owner_uid = r.creator_uid, key_id = r.key_id, environment_id = r.environment_id,
  priority = r.priority, queued_at = r.created_at
from runs r where r.run_id = h.run_id;

alter table run_heads alter column owner_uid set not null, alter column key_id set not null;

create index run_heads_open on run_heads (state, owner_uid, priority desc, queued_at, run_id)
  where state in ('QUEUED', 'INPROGRESS', 'BLOCKED');

create table workers (
  worker_id uuid primary key,
  name text not null,
  version text not null,
  slots integer not null,
  draining boolean not null default false,
  first_seen_at timestamptz not null default outrider_now(),
  last_seen_at timestamptz not null default outrider_now()
);

-- One attempt at a turn by one worker.
create table executions (
  execution_id uuid primary key,
  run_id uuid not null references runs on delete cascade,
  turn integer not null,
  attempt integer not null,
  worker_id uuid not null references workers,
  request_id uuid not null,
  claimed_at timestamptz not null default outrider_now(),
  ended_at timestamptz,
  outcome text,
  final_batch integer
);
create index executions_run on executions (run_id);
create index executions_request on executions (request_id);
create index executions_worker on executions (worker_id) where ended_at is null;

alter table runs add column session_id uuid;
alter table runs add column snapshot_sha256 text;
alter table runs add column snapshot_seq integer;
alter table followups add column execution_id uuid, add column batch integer;
create index followups_execution on followups (execution_id) where execution_id is not null;
alter table identities add column max_concurrent_runs integer;

create table artifacts (
  artifact_id uuid primary key,
  run_id uuid not null references runs on delete cascade,
  type text not null check (type in ('FILE', 'PATCH')),
  name text not null,
  mime_type text not null,
  size_bytes bigint not null,
  sha256 text not null,
  created_at timestamptz not null default outrider_now()
);
create index artifacts_run on artifacts (run_id, created_at, artifact_id);
