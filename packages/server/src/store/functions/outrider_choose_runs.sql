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
-- p_takes_harnesses is false if the worker does not take runs that need a harness.
--
-- The function counts active runs once and then updates the counts for each run that it chooses. For each choice, it
-- walks the index from owner to owner and compares only each owner's first eligible run, so the time it takes does not
-- depend on the length of the queue.
create or replace function outrider_choose_runs(
  p_worker_id uuid, p_free integer, p_max_total integer, p_takes_harnesses boolean)
returns uuid[] language plpgsql as $$
declare
  chosen uuid[];
  -- The remaining capacity by limit, and the number of active runs by owner.
  remaining jsonb;
  active jsonb;
  full_keys uuid[] := '{}';
  full_environments uuid[] := '{}';
  full_agents uuid[] := '{}';
  candidate record;
  limit_name text;
begin
  select
    array(select run_id from run_state where state = 'INPROGRESS' and execution_id is null
        and (p_takes_harnesses or not needs_harness)
      order by priority desc, queued_at, run_id limit p_free),
    (select coalesce(jsonb_object_agg(l.kind || ' ' || l.id, l.max), '{}') from concurrency_limits l),
    (select coalesce(jsonb_object_agg(owner_uid, count), '{}')
      from (select owner_uid, count(*) from run_state where state = 'INPROGRESS' group by owner_uid) busy)
  into chosen, remaining, active;
  if p_max_total is not null then
    remaining := remaining || jsonb_build_object('installation', p_max_total);
  end if;
  if remaining <> '{}' then
    select remaining || coalesce(jsonb_object_agg(busy.name, (remaining ->> busy.name)::int - busy.count), '{}') into remaining
    from (
      select n.name, count(*)::int as count
      from run_state h cross join lateral (values ('installation'), ('agent ' || h.owner_uid),
        ('key ' || h.key_id), ('environment ' || h.environment_id)) n(name)
      where h.state = 'INPROGRESS' and remaining ? n.name group by n.name
    ) busy;
  end if;

  loop
    exit when cardinality(chosen) = p_free or (remaining -> 'installation')::int <= 0;
    if remaining <> '{}' then
      select coalesce(array_agg(id::uuid) filter (where kind = 'key'), '{}'),
        coalesce(array_agg(id::uuid) filter (where kind = 'environment'), '{}'),
        coalesce(array_agg(id::uuid) filter (where kind = 'agent'), '{}')
      into full_keys, full_environments, full_agents
      from (select split_part(key, ' ', 1) as kind, nullif(split_part(key, ' ', 2), '') as id
        from jsonb_each(remaining) where value::int <= 0) exhausted;
    end if;

    -- The query is recursive because PostgreSQL has no index skip scan for this.
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
        and (h.closing_until is null or h.closing_until <= outrider_now())
        and (h.warm_until is null or h.warm_worker_id = p_worker_id or h.warm_until <= outrider_now()
          or h.queued_at <= outrider_now() - interval '2 s')
        and h.key_id <> all(full_keys)
        and (h.environment_id is null or h.environment_id <> all(full_environments))
      order by h.priority desc, h.queued_at, h.run_id limit 1
    ) first
    where o.owner_uid <> all(full_agents)
    order by first.priority desc, coalesce((active ->> o.owner_uid::text)::int, 0), first.queued_at, first.run_id
    limit 1;
    exit when not found;

    chosen := chosen || candidate.run_id;
    exit when cardinality(chosen) = p_free;
    active := active || jsonb_build_object(candidate.owner_uid::text, coalesce((active ->> candidate.owner_uid::text)::int, 0) + 1);
    continue when remaining = '{}';
    foreach limit_name in array array['installation', 'agent ' || candidate.owner_uid, 'key ' || candidate.key_id,
      'environment ' || candidate.environment_id] loop
      if remaining ? limit_name then
        remaining := remaining || jsonb_build_object(limit_name, (remaining ->> limit_name)::int - 1);
      end if;
    end loop;
  end loop;
  return chosen;
end
$$;
