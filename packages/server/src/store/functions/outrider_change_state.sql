-- Moves a run from one of the states p_from to p_to, ends its lease and execution, and appends the event that announces
-- the new state. If the run succeeds, the event may contain the structured output. Returns false and writes nothing if
-- the run is in another state. The caller must hold the run's lock and pass the execution that holds the lease, if any.
--
-- A new turn starts with new counts and times. A run stays isolated until one of its turns succeeds. p_closing_ms is
-- how long the execution may still store its sandbox's final state, and p_warm_minutes how long its worker keeps the
-- sandbox. p_final_batch is the batch that ended the turn.
create or replace function outrider_change_state(
  p_run_id uuid, p_execution_id uuid, p_from text[], p_to text, p_phase text, p_event jsonb, p_status_message jsonb, p_new_turn boolean,
  p_closing_ms integer, p_warm_minutes integer, p_final_batch integer)
returns boolean language plpgsql as $$
declare
  now timestamptz := outrider_now();
  updated record;
begin
  update run_state h
  set state = p_to, phase = p_phase, last_seq = h.last_seq + 1,
    turn = case when p_new_turn then h.turn + 1 else h.turn end,
    attempt = case when p_new_turn then 0 else h.attempt end,
    turn_deadline_at = case when p_new_turn then null else h.turn_deadline_at end,
    interruptions = case when p_new_turn then 0 else h.interruptions end,
    is_isolated = h.is_isolated and p_to not in ('SUCCEEDED', 'BLOCKED'),
    working_at = case when p_new_turn then null else h.working_at end,
    first_output_at = case when p_new_turn then null else h.first_output_at end,
    queued_at = case when p_to = 'QUEUED' then now else h.queued_at end,
    blocked_at = case when p_to = 'BLOCKED' then now end,
    closing_execution_id = case when p_closing_ms is null then h.closing_execution_id else h.execution_id end,
    closing_until = case when p_closing_ms is null then h.closing_until else now + p_closing_ms * interval '1 ms' end,
    warm_worker_id = case when p_warm_minutes is null then h.warm_worker_id else h.worker_id end,
    warm_until = case when p_warm_minutes is null then h.warm_until else now + p_warm_minutes * interval '1 minute' end,
    execution_id = null, worker_id = null, lease_expires_at = null
  where h.run_id = p_run_id and h.state = any(p_from)
  returning h.last_seq, h.turn, h.attempt into updated;
  if not found then
    return false;
  end if;
  update runs r
  set state = p_to, updated_at = now, finished_at = case when p_phase = 'done' then now end,
    started_at = case when p_new_turn then null else r.started_at end,
    status_message = p_status_message,
    output = case when p_new_turn then null when p_to = 'SUCCEEDED' then p_event -> 'data' -> 'output' else r.output end
  where r.run_id = p_run_id;
  if p_execution_id is not null then
    update executions e set ended_at = now, outcome = p_to, final_batch = p_final_batch where e.execution_id = p_execution_id;
  end if;
  perform outrider_insert_events(p_run_id, updated.last_seq, updated.turn, updated.attempt, jsonb_build_array(p_event));
  return true;
end
$$;
