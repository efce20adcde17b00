-- A change of a run's state writes its row anew into every index of the table. What people search by never changes, and
-- its indexes are the dearest ones: it has a row of its own. Who deletes a run deletes it too.
create table run_words (
  run_id uuid primary key,
  title text not null,
  search tsvector not null,
  metadata jsonb
);
insert into run_words (run_id, title, search, metadata) select run_id, title, search, metadata from runs;
drop index runs_metadata, runs_search, runs_title_words;
alter table runs drop column search;
create index run_words_metadata on run_words using gin (metadata jsonb_path_ops) where metadata is not null;
create index run_words_search on run_words using gin (search);
create index run_words_title on run_words using gin (title gin_trgm_ops);
