-- The chunks that a build consists of, besides the blob that lists them. A worker records them before it asks which of them
-- are stored, so that none of them is garbage-collected in between. Builds share chunks.
create table build_chunks (
  build_id uuid not null references builds on delete cascade,
  sha256 text not null,
  primary key (build_id, sha256)
);
create index build_chunks_sha256 on build_chunks (sha256);
