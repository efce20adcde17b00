-- Chooses the next runs of a pool for workers that wait, and the claim that gets each. The caller must hold the claim lock.
-- p_claims is an array of objects with worker_id, request_id, free, takes_harnesses and labels. No claim gets more runs than
-- it has free slots.
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
--   queued;
-- - no claim with a free slot satisfies its requirements. A queue that no claim satisfies is not read at all.
--
-- A run goes to the worker that keeps its sandbox warm, or else to the one with the most free slots.
--
-- Each round lists the first runs of each owner and walks them in the order of priority, active runs of the owner plus number
-- in the owner's list, and age. This is the order in which one choice after the other would find them, because these keys
-- never decrease within an owner's list. If a run cannot be placed, those behind it in its owner's list move up, so another
-- round starts. The time therefore depends neither on the number of active runs nor on the length of the queue.
--
-- If p_is_shared is true, the caller shares the claim lock with claims in other pools. It then gets nothing if there is any
-- limit, because the limit may have been created after the caller chose its lock.
create or replace function outrider_choose_batch(p_pool text, p_claims jsonb, p_max_total integer, p_is_shared boolean)
returns table (run_id uuid, request_id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  installation constant text := 'installation 00000000-0000-0000-0000-000000000000';
  max_unfolded constant integer := 64;
  -- How many runs of an owner a round lists.
  max_length constant integer := 16;
  -- The claims.
  workers uuid[];
  requests uuid[];
  frees integer[];
  takes boolean[];
  labels jsonb[];
  free_left integer;
  -- What the claims that have a free slot satisfy. The requirement 0 is that of runs without one.
  takes_any boolean;
  free_workers uuid[];
  requirements integer[];
  -- The remaining capacity by limit, and the number of chosen runs by owner.
  remaining jsonb;
  added jsonb := '{}';
  full_keys uuid[] := '{}';
  full_environments uuid[] := '{}';
  full_agents uuid[] := '{}';
  done uuid[] := '{}';
  unfolded integer;
  is_repeated boolean;
  candidate record;
  place integer;
  limit_name text;
begin
  select array_agg(c.worker_id order by c.number), array_agg(c.request_id order by c.number),
    array_agg(c.free order by c.number), array_agg(coalesce(c.takes_harnesses, false) order by c.number),
    array_agg(coalesce(c.labels, '{}') order by c.number), coalesce(sum(c.free), 0)
  into workers, requests, frees, takes, labels, free_left
  from rows from (jsonb_to_recordset(p_claims)
    as (worker_id uuid, request_id uuid, free integer, takes_harnesses boolean, labels jsonb)) with ordinality
    c(worker_id, request_id, free, takes_harnesses, labels, number)
  where c.free > 0;
  if free_left = 0 then
    return;
  end if;

  -- One statement reads counts and changes; see outrider_fold_active.
  with changes as materialized (select c.kind, c.id, c.change from outrider_active_changes() c),
  limits as (
    select l.kind, l.id, l.max from concurrency_limits l
    union all
    select 'installation', '00000000-0000-0000-0000-000000000000', p_max_total where p_max_total is not null
  )
  select
    (select coalesce(jsonb_object_agg(l.kind || ' ' || l.id, l.max - coalesce(c.change, 0)
        - coalesce((select n.count from active_counts n where n.kind = l.kind and n.id = l.id), 0)), '{}')
      from limits l left join changes c on c.kind = l.kind and c.id = l.id),
    (select count(*) from active_changes c where c.xid >= (select outrider_folded_before()))
  into remaining, unfolded;
  if p_is_shared and remaining <> '{}' then
    return;
  end if;
  if unfolded > max_unfolded then
    perform outrider_fold_active();
  end if;

  for round in 0..1000000 loop
    takes_any := exists (select 1 from unnest(frees, takes) c(free, takes) where c.free > 0 and c.takes);
    free_workers := array(select c.worker from unnest(workers, frees) c(worker, free) where c.free > 0);
    requirements := case when p_pool = 'default' then array[0] else '{}' end || array(
      select r.requirement_id from worker_requirements r
      where r.pool = p_pool and exists (
        select 1 from unnest(frees, takes, labels) c(free, takes, labels)
        where c.free > 0 and (c.takes or not r.needs_harness) and c.labels @> r.selector));

    is_repeated := false;
    if round = 0 then
      for candidate in
        select h.run_id, h.needs_harness, coalesce(r.selector, '{}') as selector
        from run_state h left join worker_requirements r on r.requirement_id = h.requirement_id
        where h.state = 'INPROGRESS' and h.execution_id is null and coalesce(h.requirement_id, 0) = any(requirements)
          and (takes_any or not h.needs_harness)
        order by h.priority desc, h.queued_at, h.run_id limit free_left
      loop
        select c.number into place
        from unnest(frees, takes, labels) with ordinality c(free, takes, labels, number)
        where c.free > 0 and (c.takes or not candidate.needs_harness) and c.labels @> candidate.selector
        order by c.free desc, c.number limit 1;
        continue when place is null;
        frees[place] := frees[place] - 1;
        free_left := free_left - 1;
        run_id := candidate.run_id;
        request_id := requests[place];
        is_repeated := true;
        return next;
      end loop;
      exit when free_left = 0;
      -- The claims that got a run may satisfy fewer requirements now.
      continue when is_repeated;
    end if;

    exit when (remaining -> installation)::int <= 0;
    if remaining <> '{}' then
      select coalesce(array_agg(id) filter (where kind = 'key'), '{}'),
        coalesce(array_agg(id) filter (where kind = 'environment'), '{}'),
        coalesce(array_agg(id) filter (where kind = 'agent'), '{}')
      into full_keys, full_environments, full_agents
      from (select split_part(key, ' ', 1) as kind, split_part(key, ' ', 2)::uuid as id
        from jsonb_each(remaining) where value::int <= 0) exhausted;
    end if;

    for candidate in
      with recursive changes as materialized (
        select c.owner_uid, sum(c.change)::int as change from active_changes c where c.xid >= (select outrider_folded_before())
        group by c.owner_uid
      ),
      -- The owners in each queue. The query is recursive because PostgreSQL has no index skip scan for this.
      queues as (
        select q.requirement, (
          select h.owner_uid from run_state h where h.state = 'QUEUED' and coalesce(h.requirement_id, 0) = q.requirement
          order by h.owner_uid limit 1) as owner_uid
        from unnest(requirements) q(requirement)
        union all
        select q.requirement, (
          select h.owner_uid from run_state h where h.state = 'QUEUED' and coalesce(h.requirement_id, 0) = q.requirement
            and h.owner_uid > q.owner_uid
          order by h.owner_uid limit 1)
        from queues q where q.owner_uid is not null
      ),
      owners as materialized (
        select q.requirement, q.owner_uid, coalesce(c.change, 0) + coalesce((added ->> q.owner_uid::text)::int, 0)
          + coalesce((select n.count from active_counts n where n.kind = 'agent' and n.id = q.owner_uid), 0) as active
        from queues q left join changes c on c.owner_uid = q.owner_uid
        where q.owner_uid is not null and q.owner_uid <> all(full_agents)
      ),
      -- Long lists are read only if few owners share the free slots.
      length as materialized (
        select greatest(1, least(max_length, 4 * free_left / greatest(count(*), 1)))::int as max from owners
      ),
      listed as (
        select h.*, o.active, row_number() over (partition by h.owner_uid order by h.priority desc, h.queued_at, h.run_id) as number
        from owners o cross join lateral (
          select h.run_id, h.owner_uid, h.key_id, h.environment_id, h.requirement_id, h.priority, h.queued_at, h.needs_harness,
            h.warm_worker_id, h.warm_until > outrider_now() and h.queued_at > outrider_now() - interval '2 s' as is_warm
          from run_state h
          where h.state = 'QUEUED' and coalesce(h.requirement_id, 0) = o.requirement and h.owner_uid = o.owner_uid
            and h.run_id <> all(done)
            and (takes_any or not h.needs_harness)
            and (h.closing_until is null or h.closing_until <= outrider_now())
            and (h.warm_until is null or h.warm_worker_id = any(free_workers) or h.warm_until <= outrider_now()
              or h.queued_at <= outrider_now() - interval '2 s')
            and h.key_id <> all(full_keys)
            and (h.environment_id is null or h.environment_id <> all(full_environments))
          order by h.priority desc, h.queued_at, h.run_id limit (select l.max from length l)
        ) h
      )
      select h.run_id, h.owner_uid, h.key_id, h.environment_id, h.needs_harness, h.warm_worker_id,
        coalesce(h.is_warm, false) as is_warm, coalesce(r.selector, '{}') as selector, h.number = l.max as is_last
      from listed h cross join length l left join worker_requirements r on r.requirement_id = h.requirement_id
      where h.number <= l.max
      order by h.priority desc, h.active + h.number, h.queued_at, h.run_id limit free_left
    loop
      -- Statements and expressions with a query are avoided where possible: starting one takes longer than a simple expression.
      if remaining <> '{}' then
        is_repeated := exists (
          select 1 from unnest(array[installation, 'agent ' || candidate.owner_uid, 'key ' || candidate.key_id,
            'environment ' || candidate.environment_id]) l(name) where (remaining ->> l.name)::int <= 0);
        exit when is_repeated;
      end if;
      done := done || candidate.run_id;
      if cardinality(frees) = 1 then
        place := case when (takes[1] or not candidate.needs_harness) and labels[1] @> candidate.selector
          and (not candidate.is_warm or workers[1] = candidate.warm_worker_id) then 1 end;
      else
        select c.number into place
        from unnest(workers, frees, takes, labels) with ordinality c(worker, free, takes, labels, number)
        where c.free > 0 and (c.takes or not candidate.needs_harness) and c.labels @> candidate.selector
          and (not candidate.is_warm or c.worker = candidate.warm_worker_id)
        order by c.worker is not distinct from candidate.warm_worker_id desc, c.free desc, c.number limit 1;
      end if;
      is_repeated := place is null;
      exit when is_repeated;
      frees[place] := frees[place] - 1;
      free_left := free_left - 1;
      run_id := candidate.run_id;
      request_id := requests[place];
      return next;
      exit when free_left = 0;
      added := added || jsonb_build_object(candidate.owner_uid::text, coalesce((added ->> candidate.owner_uid::text)::int, 0) + 1);
      if remaining <> '{}' then
        foreach limit_name in array array[installation, 'agent ' || candidate.owner_uid, 'key ' || candidate.key_id,
          'environment ' || candidate.environment_id] loop
          if remaining ? limit_name then
            remaining := remaining || jsonb_build_object(limit_name, (remaining ->> limit_name)::int - 1);
          end if;
        end loop;
      end if;
      is_repeated := candidate.is_last;
      exit when is_repeated;
    end loop;
    exit when free_left = 0 or not is_repeated;
  end loop;
end
$$;
