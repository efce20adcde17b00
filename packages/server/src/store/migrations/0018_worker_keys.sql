-- The key that registered a worker. Only this key may act for the worker, its executions and its builds. Null if only the
-- previous version has seen the worker.
alter table workers add column key_id uuid;

-- The user who requested a build, directly or through a cloud agent. Null if a run needed the build.
alter table builds add column requested_by uuid;
