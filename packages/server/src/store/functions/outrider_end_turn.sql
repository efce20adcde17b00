-- Ends one turn; see outrider_end_turns. It is called by servers of the previous version.
create or replace function outrider_end_turn(
  p_run_id uuid, p_execution_id uuid, p_batch integer, p_events jsonb, p_phase text, p_usage jsonb,
  p_receipt jsonb, p_has_output boolean, p_state text, p_final_phase text, p_status_message jsonb, p_warm_minutes integer)
returns boolean language plpgsql as $$
begin
  return (select e.ended from outrider_end_turns(jsonb_build_array(jsonb_build_object('run_id', p_run_id,
    'execution_id', p_execution_id, 'batch', p_batch, 'events', p_events, 'phase', p_phase, 'usage', p_usage,
    'receipt', p_receipt, 'has_output', p_has_output, 'state', p_state, 'final_phase', p_final_phase,
    'status_message', p_status_message, 'warm_minutes', p_warm_minutes)), true) e);
end
$$;
