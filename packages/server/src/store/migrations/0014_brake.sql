-- What the operator has stopped: at most one row, none where nothing ever was.
create table brake (
  is_only boolean primary key default true check (is_only),
  intake text not null check (intake in ('open', 'paused')),
  queue text not null check (queue in ('open', 'paused')),
  mode text not null check (mode in ('normal', 'read_only')),
  message text,
  changed_at timestamptz not null default outrider_now(),
  changed_by jsonb not null
);
