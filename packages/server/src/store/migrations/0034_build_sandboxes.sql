-- The kind of sandbox that a build was made in, or must be made in if it has a key. Builds of different kinds are not
-- interchangeable. Null means local, as for the builds of a server of the previous version.
alter table builds add column sandbox text;
