-- What a build has found in its repositories; null for builds that were made before anybody looked.
alter table builds add column skills jsonb;

-- The caller gave no name, so the run is called as its skill calls itself, which is known once a worker has read it.
alter table runs add column named_by_skill boolean not null default false;
