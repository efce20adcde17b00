-- Dispatch for many workers: counts of active runs without counting them, and requirements that a run has of its worker.

-- A row for each run that became active (+1) or stopped being active (-1) and is not part of active_counts yet. The table
-- is append-only, so that runs never wait for each other; a counter that each end of a run updates would serialize all
-- commits. See functions/outrider_fold_active.sql.
create table active_changes (
  xid xid8 not null default pg_current_xact_id(),
  owner_uid uuid not null,
  key_id uuid not null,
  environment_id uuid,
  change smallint not null
);
create index active_changes_xid on active_changes (xid);

-- The number of active runs of the installation (id is zeros), and of each agent, key and environment that has any, without
-- the rows of active_changes.
create table active_counts (
  kind text not null check (kind in ('installation', 'agent', 'key', 'environment')),
  id uuid not null,
  count integer not null,
  primary key (kind, id)
) with (fillfactor = 50);

-- Rows of active_changes from earlier transactions have all been folded. It only saves reading dead rows, which pile up while
-- a backup or another long query runs.
create table active_fold (
  is_only_row boolean primary key default true check (is_only_row),
  folded_before xid8 not null
);
insert into active_fold (folded_before) values ('0');

insert into active_counts (kind, id, count)
select n.kind, n.id, count(*) from run_state h cross join lateral (values
  ('installation', '00000000-0000-0000-0000-000000000000'::uuid), ('agent', h.owner_uid), ('key', h.key_id),
  ('environment', h.environment_id)) n(kind, id)
where h.state = 'INPROGRESS' and n.id is not null group by n.kind, n.id;

-- The migrator replaces the body with that of store/functions. It is a trigger so that runs which a server of the previous
-- version writes are counted too.
create function outrider_count_active_run() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger run_state_count_created after insert on run_state for each row
  when (new.state = 'INPROGRESS') execute function outrider_count_active_run();
create trigger run_state_count_changed after update of state, owner_uid, key_id, environment_id on run_state for each row
  when ((old.state = 'INPROGRESS' or new.state = 'INPROGRESS') and (old.state, old.owner_uid, old.key_id, old.environment_id)
    is distinct from (new.state, new.owner_uid, new.key_id, new.environment_id))
  execute function outrider_count_active_run();
create trigger run_state_count_deleted after delete on run_state for each row
  when (old.state = 'INPROGRESS') execute function outrider_count_active_run();

-- What runs require of a worker. Rows are never changed or deleted, so servers can remember them.
create table worker_requirements (
  requirement_id integer generated always as identity primary key,
  pool text not null,
  -- The labels that a worker must have, as an object from name to value.
  selector jsonb not null,
  needs_harness boolean not null,
  unique (pool, selector, needs_harness)
);

-- Null means the default pool and no selector; needs_harness still applies. Runs of a server of the previous version have
-- null. There is no foreign key, because each new run would lock the row of its requirement.
alter table run_state add column requirement_id integer;
create index run_state_queue on run_state (coalesce(requirement_id, 0), owner_uid, priority desc, queued_at, run_id)
  where state = 'QUEUED';

alter table workers
  add column pool text not null default 'default',
  add column labels jsonb not null default '{}';
