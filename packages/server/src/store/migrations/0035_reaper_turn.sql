-- When a server last looked for runs that exceed a time limit. The others need not look again. After a crash the table is
-- empty, and the next server that looks adds the row.
create unlogged table reaper_turn (
  is_only_row boolean primary key default true check (is_only_row),
  taken_at timestamptz not null
);
