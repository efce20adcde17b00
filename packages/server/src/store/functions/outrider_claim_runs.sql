-- Claims runs for a worker and returns everything the worker needs to execute them. The result has one row per claimed
-- run, or a single row with only `draining` if no run was claimed.
--
-- 1. Records that the worker is alive.
-- 2. Acquires the claim lock, unless the worker is draining or no run is waiting. The lock serializes claims across the
--    installation, so that no concurrency limit is exceeded.
-- 3. If this request has already claimed runs (and its response was lost), returns the same runs and claims nothing.
-- 4. Chooses the next runs (outrider_choose_runs).
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
-- p_takes_harnesses is false for workers that do not know harnesses. They get no runs that need one.
create or replace function outrider_claim_runs(
  p_worker_id uuid, p_name text, p_version text, p_slots integer, p_request_id uuid, p_free integer,
  p_lease_ms integer, p_turn_ms bigint, p_max_total integer, p_history_size integer, p_only_run_id uuid, p_takes_harnesses boolean)
returns table (
  draining boolean, run_id uuid, execution_id uuid, turn integer, attempt integer, usage jsonb, turn_left_ms float,
  agent_config jsonb, sealed_config bytea, limits jsonb, environment_secrets jsonb, environment_variables jsonb,
  has_environment boolean, output_schema jsonb, receipt jsonb, snapshot jsonb, history json)
language plpgsql
-- Every read can use an index, so a generic plan without sequential scans is always good. Planning each call with
-- current size estimates would take longer than the work itself.
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  claimed uuid[];
  is_draining boolean;
  can_claim boolean;
begin
  -- Waiting claims poll about every second, so the worker's row is written only if it changed or is older than three
  -- seconds.
  select w.draining, exists (select 1 from run_state where state = 'QUEUED')
    or exists (select 1 from run_state where state = 'INPROGRESS' and execution_id is null)
  into is_draining, can_claim from workers w
  where w.worker_id = p_worker_id and w.name = p_name and w.version = p_version and w.slots = p_slots
    and w.takes_harnesses = p_takes_harnesses and w.last_seen_at > outrider_now() - interval '3 s';
  if not found then
    insert into workers as known (worker_id, name, version, slots, takes_harnesses)
    values (p_worker_id, p_name, p_version, p_slots, p_takes_harnesses)
    on conflict (worker_id) do update
      set name = excluded.name, version = excluded.version, slots = excluded.slots, last_seen_at = outrider_now(),
        takes_harnesses = excluded.takes_harnesses
    returning known.draining into is_draining;
    can_claim := true;
  end if;
  can_claim := can_claim and not is_draining;
  if can_claim then
    if p_only_run_id is null then
      perform pg_advisory_xact_lock(7286011433);
    else
      can_claim := pg_try_advisory_xact_lock(7286011433);
    end if;
  end if;
  -- A repeated request returns the runs that it has already claimed.
  claimed := array(select e.run_id from executions e where e.request_id = p_request_id
    and e.worker_id = p_worker_id and e.ended_at is null);
  if claimed = '{}' and can_claim then
    claimed := outrider_choose_runs(p_worker_id, p_free, p_max_total, p_takes_harnesses);
    if p_only_run_id is not null and claimed <> array[p_only_run_id] then
      claimed := '{}';
    end if;
    with clock as materialized (select outrider_now() as now),
    state_row as (
      update run_state h
      set state = 'INPROGRESS', phase = 'preparing', attempt = h.attempt + 1, last_seq = h.last_seq + 1,
        report_batch = 0, execution_id = gen_random_uuid(), worker_id = p_worker_id,
        closing_execution_id = null, closing_until = null, warm_worker_id = null, warm_until = null,
        lease_expires_at = clock.now + p_lease_ms * interval '1 ms',
        turn_deadline_at = coalesce(h.turn_deadline_at, clock.now + interval '1 ms' * coalesce((
          select 60000 * coalesce((r.limits -> 'timeout_minutes')::bigint, (e.config -> 'timeout_minutes')::bigint)
          from runs r left join environments e on e.environment_id = r.environment_id where r.run_id = h.run_id),
          p_turn_ms))
      from clock where h.run_id = any(claimed) and (h.state = 'QUEUED' or (h.state = 'INPROGRESS' and h.execution_id is null))
      returning h.run_id, h.execution_id, h.turn, h.attempt
    ),
    run as (
      update runs r set state = 'INPROGRESS', updated_at = clock.now, started_at = coalesce(r.started_at, clock.now),
        session_id = coalesce(r.session_id, gen_random_uuid())
      from state_row, clock where r.run_id = state_row.run_id
    )
    insert into executions (execution_id, run_id, turn, attempt, worker_id, request_id, claimed_at)
    select state_row.execution_id, state_row.run_id, state_row.turn, state_row.attempt, p_worker_id, p_request_id, clock.now
    from state_row, clock;
    perform outrider_insert_events(h.run_id, h.last_seq, h.turn, h.attempt, jsonb_build_array(jsonb_build_object(
      'type', 'run.claimed', 'data', jsonb_build_object('worker', p_name))))
    from executions own join run_state h on h.run_id = own.run_id and h.execution_id = own.execution_id
    where own.request_id = p_request_id and own.worker_id = p_worker_id;
    -- A recovered turn continues, so follow-ups for the end of the turn remain queued.
    if exists (select 1 from followups f where f.run_id = any(claimed) and f.delivery = 'queued') then
      perform outrider_deliver_followups(h.run_id, h.execution_id, 0, exists (
        select 1 from executions e where e.run_id = h.run_id and e.turn = h.turn and e.ended_at is not null))
      from executions own join run_state h on h.run_id = own.run_id and h.execution_id = own.execution_id
      where own.request_id = p_request_id and own.worker_id = p_worker_id;
    end if;
  end if;

  if claimed = '{}' then
    draining := is_draining;
    return next;
    return;
  end if;
  return query select is_draining, h.run_id, h.execution_id, h.turn, h.attempt, h.usage,
    (extract(epoch from h.turn_deadline_at - outrider_now()) * 1000)::float,
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
  where own.request_id = p_request_id and own.worker_id = p_worker_id
  order by array_position(claimed, h.run_id);
  if not found then
    draining := is_draining;
    return next;
  end if;
end
$$;
