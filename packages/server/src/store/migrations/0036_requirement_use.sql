-- When a run last asked for the requirement. Servers of the previous version do not change it, so a requirement that only they
-- use is deleted when no run has it.
alter table worker_requirements add column used_at timestamptz not null default now();
-- Finds the requirements that no run has. Most runs have none, and it never changes after the first claim.
create index run_state_requirement on run_state (requirement_id) where requirement_id is not null;
