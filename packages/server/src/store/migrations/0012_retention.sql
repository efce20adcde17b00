-- What retention has taken from a run, and when.
alter table runs add column events_removed_at timestamptz, add column files_removed_at timestamptz;
-- Ended runs that have files to go on from: a snapshot, or the build they began with. The condition is written as
-- retention asks it. Both indexes are empty of runs without an environment and without changes.
create index runs_files on runs (finished_at) where snapshot_sha256 is not null or build_id is not null;
create index runs_snapshot on runs (snapshot_sha256) where snapshot_sha256 is not null;

alter table artifacts add column removed_at timestamptz;
create index artifacts_kept on artifacts (created_at) include (size_bytes) where removed_at is null;
create index artifacts_sha256 on artifacts (sha256) where removed_at is null;

create index builds_finished on builds (finished_at) include (size_bytes) where finished_at is not null;
create index builds_sha256 on builds (sha256) where sha256 is not null;

-- Files in the folder of blobs. A row is written when a file is stored, also when it is stored again; whoever removes the
-- file holds the row meanwhile.
create table blobs (
  sha256 text primary key,
  size_bytes bigint not null,
  stored_at timestamptz not null default outrider_now()
);
