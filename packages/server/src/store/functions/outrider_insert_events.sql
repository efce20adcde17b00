-- Inserts events into a run's log, numbered up to p_last_seq. The caller has added their number to the run's last_seq in
-- the same transaction and therefore holds the run's lock, so numbers have no gaps and become visible in order. An event
-- may have a field `private`, which only workers can read.
create or replace function outrider_insert_events(
  p_run_id uuid, p_last_seq integer, p_turn integer, p_attempt integer, p_events jsonb)
returns void language plpgsql as $$
declare
  now timestamptz := outrider_now();
begin
  insert into events (run_id, seq, type, created_at, turn, attempt, data, private)
  select p_run_id, p_last_seq - jsonb_array_length(p_events) + e.ordinal::int, e.event ->> 'type', now, p_turn, p_attempt,
    e.event -> 'data', nullif(e.event -> 'private', 'null')
  from jsonb_array_elements(p_events) with ordinality e(event, ordinal);
end
$$;
