-- The image of a build, with the digest that its reference pointed to. Null for builds on the system of the worker.
alter table builds add column image jsonb;
-- What the runs of a build take from its devcontainer.json. Null for builds without one.
alter table builds add column devcontainer jsonb;
