-- A run that may have made its worker process unresponsive executes in a process of its own (engine/runs/interruptions.ts).
alter table run_state
  add column is_isolated boolean not null default false,
  -- How often the turn was interrupted because its worker process became unresponsive.
  add column interruptions integer not null default 0;
