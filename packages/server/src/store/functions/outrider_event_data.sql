-- Returns an event's data as readers see it. Earlier versions stored the execution ID, which is the fencing token, in
-- `run.claimed`; it is omitted here, because every member can read the log.
create or replace function outrider_event_data(p_type text, p_data jsonb) returns jsonb language sql immutable as $$
  select case when p_type = 'run.claimed' then p_data - 'execution_id' else p_data end
$$;
