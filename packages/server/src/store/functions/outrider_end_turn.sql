-- Stores the execution's last report and ends the turn. The last event announces the new state. Returns false and writes
-- nothing if the execution does not hold the lease, the batch is not the next one, or a follow-up is queued.
create or replace function outrider_end_turn(
  p_run_id uuid, p_execution_id uuid, p_batch integer, p_events jsonb, p_phase text, p_usage jsonb,
  p_receipt jsonb, p_has_output boolean, p_state text, p_final_phase text, p_status_message jsonb, p_warm_minutes integer)
returns boolean language plpgsql as $$
begin
  -- Follow-ups are queued under the run's lock, so none can be added after this check.
  perform 1 from run_state h where h.run_id = p_run_id for update;
  if exists (select 1 from followups f where f.run_id = p_run_id and f.delivery = 'queued') then
    return false;
  end if;
  perform 1 from outrider_append_events(p_run_id, p_execution_id, p_batch, p_events - (-1), p_phase, p_usage, p_receipt,
    p_has_output, false);
  if not found then
    return false;
  end if;
  return outrider_change_state(p_run_id, p_execution_id, array['INPROGRESS'], p_state, p_final_phase, p_events -> -1,
    p_status_message, false, null, p_warm_minutes, p_batch);
end
$$;
