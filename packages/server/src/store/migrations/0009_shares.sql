-- Links by which anybody can read a run: one for each run, found by the hash of its token.
create table shares (
  run_id uuid primary key references runs on delete cascade,
  hash bytea not null unique,
  created_at timestamptz not null default outrider_now(),
  expires_at timestamptz not null
);
