-- Claims runs of a pool for all workers that wait at a server, and returns everything they need to execute them. p_claims is an
-- array of objects with worker_id, name, version, slots, request_id, free, takes_harnesses and labels. The result has
-- - one row for each run, with the request that it was claimed for;
-- - one row without a run for each request of a draining worker that gets none;
-- - one last row without a request. Its `has_more` tells whether runs are still waiting.
--
-- 1. Records that the workers are alive.
-- 2. Acquires the claim lock, unless no run is waiting or no worker may take one. If there are concurrency limits, the lock
--    serializes claims across the installation, so that no limit is exceeded. Otherwise claims share it, and a second lock
--    serializes the claims of a pool. A server of the previous version always holds the first lock alone.
-- 3. A request that has already claimed runs (and whose response was lost) gets the same runs and claims nothing.
-- 4. Chooses the next runs (outrider_choose_batch).
-- 5. Moves each to INPROGRESS with a new execution ID and lease, sets the turn's deadline, and appends `run.claimed`.
--    Runs that have been cancelled since step 4 no longer match and are skipped.
-- 6. Delivers queued follow-ups while holding the runs' locks, so that follow-ups that arrive at the same time are not
--    missed.
--
-- With p_only_run_id, the claim is part of the transaction that creates this run. In that case, it does not wait for
-- the claim lock, and it claims only this run, provided that the run would be next. Claiming other runs could block,
-- because slow transactions may hold their locks.
--
-- The execution ID is the fencing token, so no event contains it: every member can read the log.
--
-- p_history_size is the number of events to return for each run. p_max_total is the installation's concurrency limit.
create or replace function outrider_claim_batch(
  p_pool text, p_claims jsonb, p_lease_ms integer, p_turn_ms bigint, p_max_total integer, p_history_size integer,
  p_only_run_id uuid)
returns table (
  request_id uuid, draining boolean, has_more boolean, run_id uuid, execution_id uuid, turn integer, attempt integer, usage jsonb,
  turn_left_ms float, agent_config jsonb, sealed_config bytea, limits jsonb, environment_secrets jsonb,
  environment_variables jsonb, has_environment boolean, output_schema jsonb, receipt jsonb, snapshot jsonb, history json)
language plpgsql
-- Every read can use an index, so a generic plan without sequential scans is always good. Planning each call with
-- current size estimates would take longer than the work itself. Hash and merge joins are off, because the generic plan may
-- have been made while tables were small, and would then read all of them.
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  claim_lock constant bigint := 7286011433;
  -- The requests, those of draining workers, and those that have already claimed runs.
  requests uuid[];
  draining_requests uuid[];
  repeated uuid[];
  can_claim boolean;
  is_shared boolean;
  claimable jsonb;
  claimed uuid[] := '{}';
  claimed_for uuid[] := '{}';
  -- The runs to return. Reading by these IDs is cheap with any statistics, even if they say that the tables are almost empty.
  owned uuid[];
begin
  -- Waiting claims poll about every second, so a worker's row is written only if it changed or is older than three seconds.
  insert into workers as known (worker_id, name, version, slots, takes_harnesses, pool, labels)
  select c.worker_id, c.name, c.version, c.slots, coalesce(c.takes_harnesses, false), p_pool, coalesce(c.labels, '{}')
  from jsonb_to_recordset(p_claims)
    as c(worker_id uuid, name text, version text, slots integer, takes_harnesses boolean, labels jsonb)
  where not exists (
    select 1 from workers w
    where w.worker_id = c.worker_id and w.name = c.name and w.version = c.version and w.slots = c.slots
      and w.takes_harnesses = coalesce(c.takes_harnesses, false) and w.pool = p_pool and w.labels = coalesce(c.labels, '{}')
      and w.last_seen_at > outrider_now() - interval '3 s')
  order by c.worker_id
  on conflict (worker_id) do update
    set name = excluded.name, version = excluded.version, slots = excluded.slots, last_seen_at = outrider_now(),
      takes_harnesses = excluded.takes_harnesses, pool = excluded.pool, labels = excluded.labels;

  select array_agg(c.request_id), coalesce(array_agg(c.request_id) filter (where w.draining), '{}'),
    bool_or(not w.draining and c.free > 0)
  into requests, draining_requests, can_claim
  from jsonb_to_recordset(p_claims) as c(worker_id uuid, request_id uuid, free integer)
  join workers w on w.worker_id = c.worker_id;

  can_claim := can_claim and outrider_has_waiting_runs(p_pool);
  if can_claim then
    is_shared := p_max_total is null and not exists (select 1 from concurrency_limits);
    if p_only_run_id is not null then
      can_claim := case when is_shared
        then pg_try_advisory_xact_lock_shared(claim_lock) and pg_try_advisory_xact_lock(728601143, hashtext(p_pool))
        else pg_try_advisory_xact_lock(claim_lock) end;
    elsif is_shared then
      perform pg_advisory_xact_lock_shared(claim_lock);
      perform pg_advisory_xact_lock(728601143, hashtext(p_pool));
    else
      perform pg_advisory_xact_lock(claim_lock);
    end if;
  end if;

  -- All of a request's executions are read first, so that PostgreSQL cannot use the index of all running executions.
  repeated := array(
    with own as materialized (
      select e.request_id, e.worker_id, e.ended_at from executions e where e.request_id = any(requests)
    )
    select distinct e.request_id from own e
    where e.ended_at is null and exists (
      select 1 from jsonb_to_recordset(p_claims) as c(worker_id uuid, request_id uuid)
      where c.request_id = e.request_id and c.worker_id = e.worker_id));
  if can_claim then
    select jsonb_agg(c.claim) into claimable from jsonb_array_elements(p_claims) c(claim)
    where (c.claim ->> 'request_id')::uuid <> all(repeated || draining_requests);
    if claimable is not null then
      select coalesce(array_agg(c.run_id), '{}'), coalesce(array_agg(c.request_id), '{}') into claimed, claimed_for
      from outrider_choose_batch(p_pool, claimable, p_max_total, is_shared) c;
    end if;
    if p_only_run_id is not null and claimed <> array[p_only_run_id] then
      claimed := '{}';
    end if;
  end if;
  if claimed <> '{}' then
    with clock as materialized (select outrider_now() as now),
    chosen as materialized (
      select n.run_id, c.request_id, c.worker_id
      from unnest(claimed, claimed_for) n(run_id, request_id)
      join jsonb_to_recordset(p_claims) as c(worker_id uuid, request_id uuid) on c.request_id = n.request_id
    ),
    -- Locks in the order of IDs, like everything that locks several runs. The state is compared after that: with a condition on
    -- the state in the same query, PostgreSQL could read the index of all open runs.
    locked as materialized (
      select h.run_id, h.state, h.execution_id from run_state h where h.run_id = any(claimed) order by h.run_id for no key update
    ),
    state_row as (
      update run_state h
      set state = 'INPROGRESS', phase = 'preparing', attempt = h.attempt + 1, last_seq = h.last_seq + 1,
        report_batch = 0, execution_id = gen_random_uuid(), worker_id = chosen.worker_id,
        closing_execution_id = null, closing_until = null, warm_worker_id = null, warm_until = null,
        lease_expires_at = clock.now + p_lease_ms * interval '1 ms',
        turn_deadline_at = coalesce(h.turn_deadline_at, clock.now + interval '1 ms' * coalesce((
          select 60000 * coalesce((r.limits -> 'timeout_minutes')::bigint, (e.config -> 'timeout_minutes')::bigint)
          from runs r left join environments e on e.environment_id = r.environment_id where r.run_id = h.run_id),
          p_turn_ms))
      from clock, chosen, locked
      where h.run_id = any(claimed) and h.run_id = chosen.run_id and locked.run_id = chosen.run_id
        and (locked.state = 'QUEUED' or (locked.state = 'INPROGRESS' and locked.execution_id is null))
      returning h.run_id, h.execution_id, h.turn, h.attempt, h.last_seq, h.worker_id, chosen.request_id
    ),
    run as (
      update runs r set state = 'INPROGRESS', updated_at = clock.now, started_at = coalesce(r.started_at, clock.now),
        session_id = coalesce(r.session_id, gen_random_uuid())
      from state_row, clock where r.run_id = any(claimed) and r.run_id = state_row.run_id
    ),
    event as (
      insert into events (run_id, seq, type, created_at, turn, attempt, data)
      select s.run_id, s.last_seq, 'run.claimed', clock.now, s.turn, s.attempt, jsonb_build_object('worker', w.name)
      from state_row s join workers w on w.worker_id = s.worker_id, clock
    )
    insert into executions (execution_id, run_id, turn, attempt, worker_id, request_id, claimed_at)
    select s.execution_id, s.run_id, s.turn, s.attempt, s.worker_id, s.request_id, clock.now
    from state_row s, clock;
    -- A recovered turn continues, so follow-ups for the end of the turn remain queued.
    if exists (select 1 from followups f where f.run_id = any(claimed) and f.delivery = 'queued') then
      perform outrider_deliver_followups(h.run_id, h.execution_id, 0, exists (
        select 1 from executions e where e.run_id = h.run_id and e.turn = h.turn and e.ended_at is not null))
      from run_state h join executions own on own.execution_id = h.execution_id
      where h.run_id = any(claimed) and own.request_id = any(claimed_for);
    end if;
  end if;

  if claimed <> '{}' or repeated <> '{}' then
    owned := claimed || array(select e.run_id from executions e where e.request_id = any(repeated));
    return query select own.request_id, own.request_id = any(draining_requests), false, h.run_id, h.execution_id, h.turn, h.attempt,
      h.usage, (extract(epoch from h.turn_deadline_at - outrider_now()) * 1000)::float,
      r.agent_config, r.sealed_config, r.limits,
      coalesce(e.config -> 'secrets', '[]'), coalesce(e.config -> 'variables', '{}'),
      r.environment_id is not null, r.output_schema, r.receipt,
      case when r.snapshot_sha256 is not null
        then jsonb_build_object('sha256', r.snapshot_sha256, 'seq', r.snapshot_seq) end,
      (select json_agg(v) from (
        select run_id, seq, type, created_at, turn, attempt, outrider_event_data(type, data) as data, private from events
        where run_id = h.run_id order by seq limit p_history_size) v)
    from executions own join run_state h on h.run_id = own.run_id and h.execution_id = own.execution_id
      join runs r on r.run_id = h.run_id left join environments e on e.environment_id = r.environment_id
    where own.request_id = any(claimed_for || repeated) and h.run_id = any(owned)
    order by array_position(claimed, h.run_id);
  end if;
  return query select c.request_id, true, false, null::uuid, null::uuid, null::int, null::int, null::jsonb, null::float, null::jsonb,
    null::bytea, null::jsonb, null::jsonb, null::jsonb, null::boolean, null::jsonb, null::jsonb, null::jsonb, null::json
  from unnest(draining_requests) c(request_id) where c.request_id <> all(repeated);
  draining := false;
  has_more := outrider_has_waiting_runs(p_pool);
  return next;
end
$$;
