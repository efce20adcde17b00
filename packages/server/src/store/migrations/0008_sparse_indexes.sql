-- A change of a run's state writes its row anew into every index of the table. Most runs have no environment, skill or
-- name of their own, and nobody asks for those that have none: such rows need no entry.
drop index runs_config_name, runs_environment, runs_skill;
create index runs_config_name on runs (config_name, created_at, run_id) where config_name is not null;
create index runs_environment on runs (environment_id, created_at, run_id) where environment_id is not null;
create index runs_skill on runs (skill_spec, created_at, run_id) where skill_spec is not null;
