-- Terminals in the sandboxes of environments. The tables are unlogged, because their data is temporary: it is not in
-- backups, and if PostgreSQL crashes, all shells end.
create unlogged table shells (
  shell_id uuid primary key,
  environment_id uuid not null references environments,
  version integer not null,
  config jsonb not null,
  user_uid uuid not null,
  -- The key or session that opened the shell. The shell ends when it is revoked.
  credential_id uuid not null,
  state text not null default 'QUEUED' check (state in ('QUEUED', 'OPENING', 'OPEN', 'CLOSED')),
  terminal jsonb,
  worker_id uuid,
  -- The claim that took the shell. If its response is lost, the repeated claim returns the shell again.
  claim_id uuid,
  token uuid,
  lease_expires_at timestamptz,
  report_batch integer not null default 0,
  -- The last event, and the last one that the client has received.
  output_seq integer not null default 0,
  received_seq integer not null default 0,
  -- The last piece of input, and the last one that the worker has received.
  input_seq integer not null default 0,
  consumed_seq integer not null default 0,
  client_seen_at timestamptz not null default outrider_now(),
  active_at timestamptz not null default outrider_now(),
  exit_code integer,
  message text,
  created_at timestamptz not null default outrider_now(),
  opened_at timestamptz,
  closed_at timestamptz
);
create index shells_unfinished on shells (created_at) where state <> 'CLOSED';
create index shells_closed on shells (closed_at) where state = 'CLOSED';

-- Events and pieces of input that the other side has not received yet, encrypted.
create unlogged table shell_frames (
  shell_id uuid not null references shells on delete cascade,
  is_input boolean not null,
  seq integer not null,
  sealed bytea not null,
  primary key (shell_id, is_input, seq)
);
