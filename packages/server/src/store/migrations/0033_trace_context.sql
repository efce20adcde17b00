-- The trace context of the request that started the run's current turn, and the number of that turn. Set only if traces
-- are exported.
alter table runs add column trace_context jsonb;
