-- The harness of a run, if it is not the built-in agent.
alter table runs add column harness text;
create index runs_harness on runs (harness, created_at, run_id) where harness is not null;

-- Runs with a harness are claimed only by workers that know harnesses.
alter table run_state add column needs_harness boolean not null default false;
alter table workers add column takes_harnesses boolean not null default false;

-- The default harness for runs of a cloud agent.
alter table identities add column harness text;
