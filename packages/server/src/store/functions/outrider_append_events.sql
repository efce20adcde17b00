-- Appends one of an execution's reports to the run's log and delivers follow-ups that steer the turn. Returns no row
-- and writes nothing if the execution does not hold the lease or the batch is not the next one. An argument that is
-- null leaves the stored value unchanged.
create or replace function outrider_append_events(
  p_run_id uuid, p_execution_id uuid, p_batch integer, p_events jsonb, p_phase text, p_usage jsonb,
  p_receipt jsonb, p_has_output boolean, p_deliver boolean)
returns table (last_seq integer, followups json) language plpgsql as $$
declare
  now timestamptz := outrider_now();
  updated record;
begin
  update run_state h
  set last_seq = h.last_seq + jsonb_array_length(p_events), report_batch = p_batch, phase = coalesce(p_phase, h.phase),
    usage = coalesce(p_usage, h.usage),
    working_at = case when p_phase = 'working' then coalesce(h.working_at, now) else h.working_at end,
    first_output_at = case when p_has_output then coalesce(h.first_output_at, now) else h.first_output_at end
  where h.run_id = p_run_id and h.execution_id = p_execution_id and h.state = 'INPROGRESS' and h.report_batch = p_batch - 1
  returning h.last_seq, h.turn, h.attempt into updated;
  if not found then
    return;
  end if;
  perform outrider_insert_events(p_run_id, updated.last_seq, updated.turn, updated.attempt, p_events);
  last_seq := updated.last_seq;
  if p_receipt is not null then
    update runs r set receipt = p_receipt where r.run_id = p_run_id;
  end if;
  if p_deliver and exists (
    select 1 from followups f where f.run_id = p_run_id and f.delivery = 'queued' and f.mode <> 'queue') then
    select json_agg(d order by d.seq), max(d.seq) into followups, last_seq
    from outrider_deliver_followups(p_run_id, p_execution_id, p_batch, true) d;
  end if;
  return next;
end
$$;
