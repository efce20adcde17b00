-- Saved filters, sort order and columns of the run list.
create table views (
  view_id uuid primary key,
  owner_uid uuid not null references users,
  name text not null,
  query jsonb not null,
  sort jsonb,
  columns jsonb,
  is_shared boolean not null,
  created_at timestamptz not null default outrider_now(),
  updated_at timestamptz not null default outrider_now()
);
create index views_owner on views (owner_uid);
create index views_shared on views (name) where is_shared;

-- Prompts with variables, which all users share.
create table templates (
  template_id uuid primary key,
  owner_uid uuid not null references users,
  name text not null,
  description text,
  prompt text not null,
  variables jsonb not null,
  config jsonb,
  created_at timestamptz not null default outrider_now(),
  updated_at timestamptz not null default outrider_now()
);
create unique index templates_name on templates (lower(name));

-- Runs that a user or cloud agent dismissed or snoozed. A row applies only while the run is in this state of this turn:
-- every way back to BLOCKED or FAILED starts a new turn or passes from one of these states to the other.
create table dismissed_runs (
  uid uuid not null,
  run_id uuid not null references runs on delete cascade,
  state text not null,
  turn integer not null,
  snoozed_until timestamptz,
  created_at timestamptz not null default outrider_now(),
  primary key (uid, run_id)
);
create index dismissed_runs_run on dismissed_runs (run_id);
create index dismissed_runs_created on dismissed_runs (created_at);

-- Runs that need attention, by the time at which they began to. Few runs are in these states.
create index runs_attention on runs (coalesce(finished_at, updated_at), run_id) where state in ('BLOCKED', 'FAILED');
create index runs_attention_creator on runs (creator_uid, coalesce(finished_at, updated_at), run_id)
  where state in ('BLOCKED', 'FAILED');

-- For lists that are filtered by error code. Few runs fail.
create index runs_error_code on runs ((status_message ->> 'error_code'), created_at, run_id)
  where status_message ->> 'error_code' is not null;
