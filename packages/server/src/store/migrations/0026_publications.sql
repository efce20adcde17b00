-- The commits of a run in one of its repositories, as the latest turn left them. The bundle is a blob. It is null if the
-- commits contain a secret, or if retention has removed it.
create table staged_commits (
  run_id uuid not null references runs on delete cascade,
  path text not null,
  turn integer not null,
  base_commit text not null,
  tip text not null,
  bundle_sha256 text,
  bundle_bytes bigint,
  details jsonb not null,
  title text,
  body text,
  is_removed boolean not null default false,
  staged_at timestamptz not null default outrider_now(),
  primary key (run_id, path)
);
create index staged_commits_bundle on staged_commits (bundle_sha256) where bundle_sha256 is not null;

-- The branch that a run pushes to, per repository. A branch belongs to one run. repository_key identifies the repository
-- independently of how its URL is written.
create table run_branches (
  run_id uuid not null references runs on delete cascade,
  path text not null,
  repository_key text not null,
  branch text not null,
  pushed_tip text,
  pushed_commit text,
  primary key (run_id, path)
);
create unique index run_branches_branch on run_branches (repository_key, branch);

-- Requests to push staged commits and to open a pull request. A worker holds the lease while the state is PUSHING, a
-- server while it is PUSHED.
create table publications (
  publication_id uuid primary key,
  run_id uuid not null references runs on delete cascade,
  position bigint generated always as identity,
  turn integer not null,
  path text not null,
  repository text not null,
  kind text not null check (kind in ('branch', 'pull_request', 'draft_pull_request')),
  state text not null check (state in
    ('AWAITING_APPROVAL', 'QUEUED', 'PUSHING', 'PUSHED', 'DONE', 'FAILED', 'REJECTED', 'SUPERSEDED')),
  branch text not null,
  base text,
  base_commit text not null,
  tip text not null,
  bundle_sha256 text,
  bundle_bytes bigint,
  title text not null,
  body text not null,
  options jsonb not null default '{}',
  files_changed integer not null,
  diff_bytes bigint not null,
  requested_by jsonb not null,
  request_id uuid,
  approval_reason text,
  decided_by jsonb,
  decided_at timestamptz,
  comment text,
  worker_id uuid,
  token uuid,
  lease_expires_at timestamptz,
  attempts integer not null default 0,
  lost_attempts integer not null default 0,
  queued_at timestamptz,
  next_attempt_at timestamptz,
  pushed_commit text,
  pull_request jsonb,
  warnings jsonb,
  status_message jsonb,
  created_at timestamptz not null default outrider_now(),
  finished_at timestamptz
);
create index publications_run on publications (run_id, position);
create unique index publications_request on publications (run_id, request_id, path) where request_id is not null;
create index publications_unfinished on publications (state, next_attempt_at)
  where state in ('AWAITING_APPROVAL', 'QUEUED', 'PUSHING', 'PUSHED');
create index publications_bundle on publications (bundle_sha256)
  where bundle_sha256 is not null and state in ('AWAITING_APPROVAL', 'QUEUED', 'PUSHING');

-- The outcome of a turn that waits for approvals. The run is BLOCKED until users have decided on its publications.
alter table runs add column planned_outcome jsonb;
-- Whether the worker reported the commits at the end of the turn. Older workers do not.
alter table executions add column has_staged boolean not null default false;
