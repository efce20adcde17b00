-- When a server last read all active runs to find those that exceed a time limit. Many runs are read less often than each turn.
-- Servers of the previous version do not set it, and read all active runs in each of their turns.
alter table reaper_turn add column active_read_at timestamptz;
