-- Stores the last reports of executions and ends their turns. p_ends is an array of objects with run_id, execution_id, batch,
-- events, phase, usage, receipt, has_output, state, final_phase, status_message and warm_minutes. The last event announces the
-- new state; if the run succeeds, it may contain the structured output.
--
-- `ended` is false, and nothing is written, if the execution does not hold the lease, the batch is not the next one, or a
-- follow-up is queued. It is null if the run is locked and p_waits is false. `lacks_commits` tells whether the run asks for a
-- publication, but its worker did not report any commits because it is too old.
--
-- It does for many runs what outrider_append_events and outrider_change_state do for one, but writes each row once. Preparing to
-- write `runs`, with all its indexes and triggers, takes longer than writing a row.
create or replace function outrider_end_turns(p_ends jsonb, p_waits boolean)
returns table (execution_id uuid, ended boolean, lacks_commits boolean) language plpgsql
-- Every read can use an index, as in outrider_claim_batch.
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  now timestamptz := outrider_now();
  run_ids uuid[];
  locked uuid[];
  done uuid[];
begin
  run_ids := array(select (e.value ->> 'run_id')::uuid from jsonb_array_elements(p_ends) e);
  -- Locks in the order of IDs, like everything that locks several runs.
  if p_waits then
    locked := array(select h.run_id from run_state h where h.run_id = any(run_ids) order by h.run_id for no key update);
  else
    locked := array(
      select h.run_id from run_state h where h.run_id = any(run_ids) order by h.run_id for no key update skip locked);
  end if;
  -- Follow-ups are queued under the run's lock, so none can be added after this check. The trigger on `runs` reads the usage, so
  -- run_state is written first.
  with ending as (
    update run_state h
    set state = s.state, phase = s.final_phase, last_seq = h.last_seq + jsonb_array_length(s.events), report_batch = s.batch,
      usage = coalesce(s.usage, h.usage),
      working_at = case when s.phase = 'working' then coalesce(h.working_at, now) else h.working_at end,
      first_output_at = case when s.has_output then coalesce(h.first_output_at, now) else h.first_output_at end,
      is_isolated = h.is_isolated and s.state not in ('SUCCEEDED', 'BLOCKED'),
      blocked_at = case when s.state = 'BLOCKED' then now end,
      warm_worker_id = case when s.warm_minutes is null then h.warm_worker_id else h.worker_id end,
      warm_until = case when s.warm_minutes is null then h.warm_until else now + s.warm_minutes * interval '1 minute' end,
      execution_id = null, worker_id = null, lease_expires_at = null
    from jsonb_to_recordset(p_ends) as s(run_id uuid, execution_id uuid, batch integer, events jsonb, phase text, usage jsonb,
      has_output boolean, state text, final_phase text, warm_minutes integer)
    -- Only a run that is INPROGRESS has an execution. With a condition on the state, PostgreSQL would read the index of all open
    -- runs.
    where h.run_id = s.run_id and h.run_id = any(locked) and h.execution_id = s.execution_id and h.report_batch = s.batch - 1
      and not exists (select 1 from followups f where f.run_id = h.run_id and f.delivery = 'queued')
    returning h.run_id
  )
  select coalesce(array_agg(e.run_id), '{}') into done from ending e;
  if done <> '{}' then
    with sent as materialized (
      select * from jsonb_to_recordset(p_ends) as s(run_id uuid, execution_id uuid, batch integer, events jsonb, receipt jsonb,
        state text, final_phase text, status_message jsonb)
      where s.run_id = any(done)
    ),
    run as (
      update runs r
      set state = s.state, updated_at = now, finished_at = case when s.final_phase = 'done' then now end,
        status_message = s.status_message, receipt = coalesce(s.receipt, r.receipt),
        output = case when s.state = 'SUCCEEDED' then s.events -> -1 -> 'data' -> 'output' else r.output end
      from sent s where r.run_id = s.run_id
    ),
    execution as (
      update executions e set ended_at = now, outcome = s.state, final_batch = s.batch
      from sent s where e.execution_id = s.execution_id
    )
    insert into events (run_id, seq, type, created_at, turn, attempt, data, private)
    select h.run_id, h.last_seq - jsonb_array_length(s.events) + e.ordinal::int, e.event ->> 'type', now, h.turn, h.attempt,
      e.event -> 'data', nullif(e.event -> 'private', 'null')
    from sent s join run_state h on h.run_id = s.run_id
      cross join lateral jsonb_array_elements(s.events) with ordinality e(event, ordinal);
  end if;
  return query
  select s.execution_id, case when s.run_id = any(locked) or r.run_id is null then s.run_id = any(done) end,
    coalesce(s.state = 'SUCCEEDED' and not e.has_staged and r.agent_config ->> 'publish' <> 'none', false)
  from jsonb_to_recordset(p_ends) as s(run_id uuid, execution_id uuid, state text)
    left join runs r on r.run_id = s.run_id
    left join executions e on e.execution_id = s.execution_id and e.run_id = s.run_id;
end
$$;
