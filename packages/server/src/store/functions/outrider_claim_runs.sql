-- Claims runs of the default pool for one worker, on behalf of a server of the previous version, which does not know pools.
-- This version calls outrider_claim_batch. The result has one row per claimed run, or a single row with only `draining` if no
-- run was claimed.
--
-- p_takes_harnesses is false for workers that do not know harnesses. They get no runs that need one.
create or replace function outrider_claim_runs(
  p_worker_id uuid, p_name text, p_version text, p_slots integer, p_request_id uuid, p_free integer,
  p_lease_ms integer, p_turn_ms bigint, p_max_total integer, p_history_size integer, p_only_run_id uuid, p_takes_harnesses boolean)
returns table (
  draining boolean, run_id uuid, execution_id uuid, turn integer, attempt integer, usage jsonb, turn_left_ms float,
  agent_config jsonb, sealed_config bytea, limits jsonb, environment_secrets jsonb, environment_variables jsonb,
  has_environment boolean, output_schema jsonb, receipt jsonb, snapshot jsonb, history json)
language plpgsql as $$
#variable_conflict use_column
begin
  return query select b.draining, b.run_id, b.execution_id, b.turn, b.attempt, b.usage, b.turn_left_ms,
    b.agent_config, b.sealed_config, b.limits, b.environment_secrets, b.environment_variables,
    b.has_environment, b.output_schema, b.receipt, b.snapshot, b.history
  from outrider_claim_batch('default', jsonb_build_array(jsonb_build_object('worker_id', p_worker_id, 'name', p_name,
    'version', p_version, 'slots', p_slots, 'request_id', p_request_id, 'free', p_free, 'takes_harnesses', p_takes_harnesses)),
    p_lease_ms, p_turn_ms, p_max_total, p_history_size, p_only_run_id) b
  where b.request_id is not null;
  if not found then
    draining := false;
    return next;
  end if;
end
$$;
