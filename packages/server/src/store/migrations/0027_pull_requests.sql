-- Pull requests with the changes of runs. The ID is also the ID of the artifact.
create table pull_requests (
  pull_request_id uuid primary key,
  run_id uuid not null references runs on delete cascade,
  -- Path of the repository in the workspace.
  path text not null,
  -- Has no foreign key: pull requests stay if a forge is disconnected.
  forge_id uuid not null,
  repository text not null,
  number integer not null,
  url text not null,
  branch text not null,
  base text not null,
  state text not null check (state in ('draft', 'open', 'merged', 'closed')),
  title text not null,
  head_commit text not null,
  -- The commit that Outrider pushed last.
  pushed_commit text not null,
  has_conflict boolean not null default false,
  etags jsonb not null default '{}',
  -- What has been considered for follow-ups: IDs of comments with their times, and the failed checks of a commit.
  seen_comments jsonb not null default '{}',
  seen_checks jsonb not null default '{}',
  followup_count integer not null default 0,
  -- Null if the pull request is no longer polled.
  next_poll_at timestamptz default outrider_now(),
  -- The poll that is in progress. A server that took too long must not store what it read.
  poll_token uuid,
  poll_failures integer not null default 0,
  changed_at timestamptz not null default outrider_now(),
  created_at timestamptz not null default outrider_now(),
  updated_at timestamptz not null default outrider_now(),
  unique (run_id, path, branch, number)
);
create index pull_requests_due on pull_requests (next_poll_at) where next_poll_at is not null;

-- How many requests the servers have sent to a forge in the current minute, and until when it asked them to wait.
create unlogged table forge_requests (
  forge_id uuid primary key,
  minute timestamptz not null,
  requests integer not null,
  blocked_until timestamptz
);

-- The state of a run's pull request, for lists. If there are several, the first of open, draft, merged and closed.
alter table runs add column pull_request_state text;
create index runs_pull_request on runs (pull_request_state, created_at, run_id) where pull_request_state is not null;
