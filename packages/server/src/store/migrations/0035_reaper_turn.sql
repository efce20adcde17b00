-- When a server last looked for runs that exceed a time limit. The others need not look again.
create table reaper_turn (
  is_only_row boolean primary key default true check (is_only_row),
  taken_at timestamptz not null default '-infinity'
);
insert into reaper_turn default values;
