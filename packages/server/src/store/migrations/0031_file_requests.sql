-- Requests for files of a run's workspace. A worker reads them. The table is unlogged, because its data is temporary: rows
-- are deleted after ten minutes.
create unlogged table file_requests (
  request_id uuid primary key,
  run_id uuid not null,
  requested_by uuid not null,
  kind text not null check (kind in ('list', 'read')),
  path text not null,
  -- The worker that is asked first: it has the run's sandbox, or it has opened the run's snapshot recently.
  preferred_worker_id uuid,
  -- 'sandbox' if the preferred worker has the run's sandbox.
  source text not null check (source in ('sandbox', 'snapshot')),
  state text not null default 'QUEUED' check (state in ('QUEUED', 'READING', 'READY', 'FAILED')),
  worker_id uuid,
  outcome jsonb,
  created_at timestamptz not null default outrider_now(),
  finished_at timestamptz
);
create index file_requests_unfinished on file_requests (created_at) where state in ('QUEUED', 'READING');
create index file_requests_of_run on file_requests (run_id, created_at);
create index file_requests_created on file_requests (created_at);
