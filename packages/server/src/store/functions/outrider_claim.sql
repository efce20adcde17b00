-- Claims runs on behalf of a server of the previous version, which does not know harnesses. This version calls
-- outrider_claim_runs. Workers of the previous version do not know the field `harness` of a configuration.
create or replace function outrider_claim(
  p_worker_id uuid, p_name text, p_version text, p_slots integer, p_request_id uuid, p_free integer,
  p_lease_ms integer, p_turn_ms bigint, p_max_total integer, p_history_size integer, p_only_run_id uuid)
returns table (
  draining boolean, run_id uuid, execution_id uuid, turn integer, attempt integer, usage jsonb, turn_left_ms float,
  agent_config jsonb, sealed_config bytea, limits jsonb, environment_secrets jsonb, environment_variables jsonb,
  has_environment boolean, output_schema jsonb, receipt jsonb, snapshot jsonb, history json)
language sql as $$
  select c.draining, c.run_id, c.execution_id, c.turn, c.attempt, c.usage, c.turn_left_ms,
    c.agent_config - 'harness', c.sealed_config, c.limits, c.environment_secrets, c.environment_variables,
    c.has_environment, c.output_schema, c.receipt, c.snapshot, c.history
  from outrider_claim_runs(p_worker_id, p_name, p_version, p_slots, p_request_id, p_free, p_lease_ms, p_turn_ms,
    p_max_total, p_history_size, p_only_run_id, false) c
$$;
