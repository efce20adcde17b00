-- Delivers queued follow-ups to an execution. It appends their events and records the batch, so that a repeated report
-- receives the same follow-ups. With p_steering, follow-ups for the end of the turn remain queued. The caller must hold
-- the run's lock.
create or replace function outrider_deliver_followups(p_run_id uuid, p_execution_id uuid, p_batch integer, p_steering boolean)
returns table (followup_id uuid, message text, mode text, seq integer, attachments jsonb) language sql as $$
  with queued as materialized (
    select f.followup_id, f.message, f.mode, row_number() over (order by f.position)::int as ordinal,
      count(*) over ()::int as count, outrider_followup_attachments(p_run_id, f.followup_id) as attachments
    from followups f where f.run_id = p_run_id and f.delivery = 'queued' and (not p_steering or f.mode <> 'queue')
  ),
  updated as (
    update run_state h set last_seq = h.last_seq + w.count
    from (select count from queued limit 1) w where h.run_id = p_run_id
    returning h.last_seq, h.turn, h.attempt
  ),
  inserted as materialized (
    select outrider_insert_events(p_run_id, h.last_seq, h.turn, h.attempt, jsonb_agg(jsonb_build_object(
      'type', 'message.user', 'data', jsonb_strip_nulls(jsonb_build_object('text', w.message, 'followup_id', w.followup_id,
        'mode', w.mode, 'attachments', w.attachments))) order by w.ordinal))
    from queued w, updated h group by h.last_seq, h.turn, h.attempt
  )
  -- PostgreSQL executes `inserted` only because the statement reads from it.
  update followups f
  set delivery = 'delivered', seq = h.last_seq - w.count + w.ordinal, execution_id = p_execution_id, batch = p_batch
  from queued w, updated h, inserted where f.followup_id = w.followup_id
  returning f.followup_id, f.message, f.mode, f.seq, w.attachments
$$;
