-- Chooses the next runs for a worker with p_free free slots. The caller must hold the claim lock.
--
-- Order:
-- 1. Runs whose worker was lost. They still count as active, so concurrency limits do not apply to them again.
-- 2. Queued runs by priority; then by the owner with the fewest active runs, so that one owner cannot starve the others;
--    then by age.
--
-- A queued run is skipped while
-- - the concurrency limit of the installation (p_max_total), its owner, its key or its environment has been reached;
-- - its last execution may still store the sandbox's final state (closing_until);
-- - another worker is keeping its sandbox warm. The run waits for that worker for at most two seconds after it was
--   queued.
--
-- p_takes_harnesses is false if the worker does not take runs that need a harness. The worker has no labels and belongs to
-- the default pool.
--
-- The function reads the numbers of active runs once (see outrider_fold_active) and then updates them for each run that it
-- chooses. For each choice, it walks the index from owner to owner and compares only each owner's first eligible run. The
-- time it takes therefore depends neither on the number of active runs nor on the length of the queue.
create or replace function outrider_choose_runs(
  p_worker_id uuid, p_free integer, p_max_total integer, p_takes_harnesses boolean)
returns uuid[] language plpgsql as $$
declare
  installation constant text := 'installation 00000000-0000-0000-0000-000000000000';
  max_unfolded constant integer := 500;
  chosen uuid[];
  requirements integer[];
  -- The remaining capacity by limit, the number of active runs of each owner in the queue, and how many of these were
  -- chosen now.
  remaining jsonb;
  active jsonb;
  added jsonb := '{}';
  unfolded integer;
  full_keys uuid[] := '{}';
  full_environments uuid[] := '{}';
  full_agents uuid[] := '{}';
  candidate record;
  limit_name text;
begin
  requirements := array(select r.requirement_id from worker_requirements r
    where r.pool = 'default' and r.selector = '{}' and (p_takes_harnesses or not r.needs_harness));
  with recursive changes as materialized (select c.kind, c.id, c.change from outrider_active_changes() c),
  limits as (
    select l.kind, l.id, l.max from concurrency_limits l
    union all
    select 'installation', '00000000-0000-0000-0000-000000000000', p_max_total where p_max_total is not null
  ),
  -- The query is recursive because PostgreSQL has no index skip scan for this.
  owners as (
    (select owner_uid from run_state where state = 'QUEUED' order by owner_uid limit 1)
    union all
    select (select h.owner_uid from run_state h where h.state = 'QUEUED' and h.owner_uid > o.owner_uid
      order by h.owner_uid limit 1)
    from owners o where o.owner_uid is not null
  )
  select
    array(select run_id from run_state where state = 'INPROGRESS' and execution_id is null
        and (p_takes_harnesses or not needs_harness)
        and (requirement_id is null or requirement_id = any(requirements))
      order by priority desc, queued_at, run_id limit p_free),
    (select coalesce(jsonb_object_agg(l.kind || ' ' || l.id, l.max - coalesce(c.change, 0)
        - coalesce((select n.count from active_counts n where n.kind = l.kind and n.id = l.id), 0)), '{}')
      from limits l left join changes c on c.kind = l.kind and c.id = l.id),
    (select coalesce(jsonb_object_agg(o.owner_uid, coalesce(c.change, 0)
        + coalesce((select n.count from active_counts n where n.kind = 'agent' and n.id = o.owner_uid), 0)), '{}')
      from owners o left join changes c on c.kind = 'agent' and c.id = o.owner_uid where o.owner_uid is not null),
    (select count(*) from active_changes c where c.xid >= outrider_folded_before())
  into chosen, remaining, active, unfolded;
  if unfolded > max_unfolded then
    perform outrider_fold_active();
  end if;

  loop
    exit when cardinality(chosen) = p_free or (remaining -> installation)::int <= 0;
    if remaining <> '{}' then
      select coalesce(array_agg(id) filter (where kind = 'key'), '{}'),
        coalesce(array_agg(id) filter (where kind = 'environment'), '{}'),
        coalesce(array_agg(id) filter (where kind = 'agent'), '{}')
      into full_keys, full_environments, full_agents
      from (select split_part(key, ' ', 1) as kind, split_part(key, ' ', 2)::uuid as id
        from jsonb_each(remaining) where value::int <= 0) exhausted;
    end if;

    with recursive owners as (
      (select owner_uid from run_state where state = 'QUEUED' order by owner_uid limit 1)
      union all
      select (select h.owner_uid from run_state h where h.state = 'QUEUED' and h.owner_uid > o.owner_uid
        order by h.owner_uid limit 1)
      from owners o where o.owner_uid is not null
    )
    select first.run_id, first.owner_uid, first.key_id, first.environment_id into candidate
    from owners o cross join lateral (
      select h.run_id, h.owner_uid, h.key_id, h.environment_id, h.priority, h.queued_at from run_state h
      where h.state = 'QUEUED' and h.owner_uid = o.owner_uid and h.run_id <> all(chosen)
        and (p_takes_harnesses or not h.needs_harness)
        and (h.requirement_id is null or h.requirement_id = any(requirements))
        and (h.closing_until is null or h.closing_until <= outrider_now())
        and (h.warm_until is null or h.warm_worker_id = p_worker_id or h.warm_until <= outrider_now()
          or h.queued_at <= outrider_now() - interval '2 s')
        and h.key_id <> all(full_keys)
        and (h.environment_id is null or h.environment_id <> all(full_environments))
      order by h.priority desc, h.queued_at, h.run_id limit 1
    ) first
    where o.owner_uid <> all(full_agents)
    order by first.priority desc, coalesce((active ->> o.owner_uid::text)::int, 0)
      + coalesce((added ->> o.owner_uid::text)::int, 0), first.queued_at, first.run_id
    limit 1;
    exit when not found;

    chosen := chosen || candidate.run_id;
    exit when cardinality(chosen) = p_free;
    added := added || jsonb_build_object(candidate.owner_uid::text, coalesce((added ->> candidate.owner_uid::text)::int, 0) + 1);
    continue when remaining = '{}';
    foreach limit_name in array array[installation, 'agent ' || candidate.owner_uid, 'key ' || candidate.key_id,
      'environment ' || candidate.environment_id] loop
      if remaining ? limit_name then
        remaining := remaining || jsonb_build_object(limit_name, (remaining ->> limit_name)::int - 1);
      end if;
    end loop;
  end loop;
  return chosen;
end
$$;
