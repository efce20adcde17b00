-- Requests for proposed settings of an environment. A worker reads the repository and stores the result. Rows are deleted
-- after an hour.
create table environment_proposals (
  proposal_id uuid primary key,
  requested_by uuid not null,
  repository jsonb not null,
  state text not null default 'QUEUED' check (state in ('QUEUED', 'READING', 'READY', 'FAILED')),
  worker_id uuid,
  result jsonb,
  status_message jsonb,
  created_at timestamptz not null default outrider_now(),
  started_at timestamptz,
  finished_at timestamptz
);
create index environment_proposals_unfinished on environment_proposals (created_at)
  where state in ('QUEUED', 'READING');
