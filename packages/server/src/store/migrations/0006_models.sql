-- Keys of model providers that stood in the operator's file, encrypted.
create table model_keys (
  provider text collate "C" primary key,
  sealed bytea not null,
  updated_at timestamptz not null default outrider_now()
);

-- The answer that output_schema asked for, of the latest turn.
alter table runs add column output jsonb;

-- Events name a run's attachments, and workers fetch them by what they are named.
alter table attachments add column attachment_id uuid primary key default gen_random_uuid();
alter table attachments alter column attachment_id drop default;

create function outrider_attachments(of_run uuid, of_followup uuid) returns jsonb language sql stable as $$
  select jsonb_agg(jsonb_build_object('attachment_id', a.attachment_id, 'file_name', a.file_name,
    'mime_type', a.mime_type, 'size_bytes', length(a.data)) order by a.position)
  from attachments a where a.run_id = of_run and a.followup_id = of_followup
$$;

-- As in 0003, and with the files that came with each message.
drop function outrider_deliver(uuid, uuid, integer, boolean);
create function outrider_deliver(of_run uuid, to_execution uuid, in_batch integer, steering boolean)
returns table (followup_id uuid, message text, mode text, seq integer, attachments jsonb) language sql as $$
  with waiting as materialized (
    select f.followup_id, f.message, f.mode, row_number() over (order by f.position)::int as place,
      count(*) over ()::int as count, outrider_attachments(of_run, f.followup_id) as attachments
    from followups f where f.run_id = of_run and f.delivery = 'queued' and (not steering or f.mode <> 'queue')
  ),
  head as (
    update run_heads h set last_seq = h.last_seq + w.count
    from (select count from waiting limit 1) w where h.run_id = of_run
    returning h.last_seq - w.count as before, h.turn, h.attempt
  ),
  event as (
    insert into events (run_id, seq, type, created_at, turn, attempt, data)
    select of_run, h.before + w.place, 'message.user', outrider_now(), h.turn, h.attempt,
      jsonb_strip_nulls(jsonb_build_object('text', w.message, 'followup_id', w.followup_id, 'mode', w.mode,
        'attachments', w.attachments))
    from waiting w, head h
  )
  update followups f
  set delivery = 'delivered', seq = h.before + w.place, execution_id = to_execution, batch = in_batch
  from waiting w, head h where f.followup_id = w.followup_id
  returning f.followup_id, f.message, f.mode, f.seq, w.attachments
$$;

-- As in 0003; the last event of an end that succeeds may hold an answer.
create or replace function outrider_end(
  of_run uuid, by_execution uuid, in_batch integer, its_events jsonb, its_phase text, its_usage jsonb,
  its_receipt jsonb, shows boolean, to_state text, to_phase text, its_message jsonb, kept_minutes integer)
returns boolean language plpgsql as $$
declare
  now timestamptz := outrider_now();
  count integer := jsonb_array_length(its_events);
  head record;
begin
  select h.last_seq, h.turn, h.attempt into head from run_heads h
  where h.run_id = of_run and h.execution_id = by_execution and h.state = 'INPROGRESS' and h.report_batch = in_batch - 1
  for update;
  if not found or exists (select 1 from followups f where f.run_id = of_run and f.delivery = 'queued') then
    return false;
  end if;
  update run_heads h
  set state = to_state, phase = to_phase, last_seq = h.last_seq + count, report_batch = in_batch, usage = its_usage,
    working_at = case when its_phase = 'working' then coalesce(h.working_at, now) else h.working_at end,
    first_output_at = case when shows then coalesce(h.first_output_at, now) else h.first_output_at end,
    execution_id = null, worker_id = null, lease_expires_at = null,
    blocked_at = case when to_state = 'BLOCKED' then now end,
    kept_worker_id = case when kept_minutes is null then h.kept_worker_id else h.worker_id end,
    kept_until = case when kept_minutes is null then h.kept_until else now + kept_minutes * interval '1 minute' end
  where h.run_id = of_run;
  update runs r
  set state = to_state, updated_at = now, finished_at = case when to_phase = 'done' then now end,
    status_message = its_message, receipt = coalesce(its_receipt, r.receipt),
    output = case when to_state = 'SUCCEEDED' then its_events -> -1 -> 'data' -> 'output' else r.output end
  where r.run_id = of_run;
  update executions e set ended_at = now, outcome = to_state, final_batch = in_batch where e.execution_id = by_execution;
  insert into events (run_id, seq, type, created_at, turn, attempt, data)
  select of_run, head.last_seq + e.place::int, e.event ->> 'type', now, head.turn, head.attempt, e.event -> 'data'
  from jsonb_array_elements(its_events) with ordinality e(event, place);
  return true;
end
$$;

-- As in 0003, and with the schema of the answer.
drop function outrider_claim(uuid, text, text, integer, uuid, integer, integer, bigint, integer, integer, uuid);
create function outrider_claim(
  for_worker uuid, its_name text, its_version text, its_slots integer, for_request uuid, free integer,
  lease_ms integer, turn_ms bigint, max_total integer, history_size integer, only_run uuid)
returns table (
  draining boolean, run_id uuid, execution_id uuid, turn integer, attempt integer, usage jsonb, turn_left_ms float,
  agent_config jsonb, sealed_config bytea, limits jsonb, environment_secrets jsonb, environment_variables jsonb,
  has_environment boolean, output_schema jsonb, receipt jsonb, snapshot jsonb, history json)
language plpgsql
-- Each way that it reads has an index, and the plan that was made first stays good. The database would otherwise plan
-- anew, from how large it takes the tables to be, and take longer for it than for the work.
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  taken uuid[];
  is_draining boolean;
  is_open boolean;
begin
  -- A claim that waits comes by each second; that its worker lives is worth a write less often.
  select w.draining, exists (select 1 from run_heads where state = 'QUEUED')
    or exists (select 1 from run_heads where state = 'INPROGRESS' and execution_id is null)
  into is_draining, is_open from workers w
  where w.worker_id = for_worker and w.name = its_name and w.version = its_version and w.slots = its_slots
    and w.last_seen_at > outrider_now() - interval '3 s';
  if not found then
    insert into workers as known (worker_id, name, version, slots)
    values (for_worker, its_name, its_version, its_slots)
    on conflict (worker_id) do update
      set name = excluded.name, version = excluded.version, slots = excluded.slots, last_seen_at = outrider_now()
    returning known.draining into is_draining;
    is_open := true;
  end if;
  is_open := is_open and not is_draining;
  if is_open then
    -- Claims run one after the other in the whole installation, so that no limit is ever exceeded.
    if only_run is null then
      perform pg_advisory_xact_lock(7286011433);
    else
      is_open := pg_try_advisory_xact_lock(7286011433);
    end if;
  end if;
  -- A claim whose answer was lost is repeated: what it took is given again, and nothing more.
  taken := array(select e.run_id from executions e where e.request_id = for_request and e.ended_at is null);
  if taken = '{}' and is_open then
    taken := outrider_next(for_worker, free, max_total);
    -- Others may be locked by somebody who takes his time.
    if only_run is not null and taken <> array[only_run] then
      taken := '{}';
    end if;
    -- Who was cancelled meanwhile is not among those that this finds.
    with at as materialized (select outrider_now() as now),
    head as (
      update run_heads h
      set state = 'INPROGRESS', phase = 'preparing', attempt = h.attempt + 1, last_seq = h.last_seq + 1,
        report_batch = 0, execution_id = gen_random_uuid(), worker_id = for_worker,
        closing_execution_id = null, closing_until = null, kept_worker_id = null, kept_until = null, lease_expires_at = at.now + lease_ms * interval '1 ms',
        turn_deadline_at = coalesce(h.turn_deadline_at, at.now + interval '1 ms' * coalesce((
          select 60000 * coalesce((r.limits -> 'timeout_minutes')::bigint, (e.config -> 'timeout_minutes')::bigint)
          from runs r left join environments e on e.environment_id = r.environment_id where r.run_id = h.run_id),
          turn_ms))
      from at where h.run_id = any(taken) and (h.state = 'QUEUED' or (h.state = 'INPROGRESS' and h.execution_id is null))
      returning h.run_id, h.execution_id, h.turn, h.attempt, h.last_seq
    ),
    run as (
      update runs r set state = 'INPROGRESS', updated_at = at.now, started_at = coalesce(r.started_at, at.now),
        session_id = coalesce(r.session_id, gen_random_uuid())
      from head, at where r.run_id = head.run_id
    ),
    execution as (
      insert into executions (execution_id, run_id, turn, attempt, worker_id, request_id, claimed_at)
      select head.execution_id, head.run_id, head.turn, head.attempt, for_worker, for_request, at.now from head, at
    )
    insert into events (run_id, seq, type, created_at, turn, attempt, data)
    select head.run_id, head.last_seq, 'run.claimed', at.now, head.turn, head.attempt,
      jsonb_build_object('execution_id', head.execution_id, 'worker', its_name)
    from head, at;
    -- Asked under the runs' locks: a message that came while the claim waited for one belongs to it. A turn that goes
    -- on where another worker lost it is resumed: what waits for its end still waits.
    if exists (select 1 from followups f where f.run_id = any(taken) and f.delivery = 'queued') then
      perform outrider_deliver(h.run_id, h.execution_id, 0, exists (
        select 1 from executions e where e.run_id = h.run_id and e.turn = h.turn and e.ended_at is not null))
      from executions mine join run_heads h on h.run_id = mine.run_id and h.execution_id = mine.execution_id
      where mine.request_id = for_request;
    end if;
  end if;

  if taken = '{}' then
    draining := is_draining;
    return next;
    return;
  end if;
  return query select is_draining, h.run_id, h.execution_id, h.turn, h.attempt, h.usage,
    (extract(epoch from h.turn_deadline_at - outrider_now()) * 1000)::float,
    r.agent_config, r.sealed_config, r.limits,
    coalesce(e.config -> 'secrets', '[]'), coalesce(e.config -> 'variables', '{}'),
    r.environment_id is not null, r.output_schema, r.receipt,
    case when r.snapshot_sha256 is not null
      then jsonb_build_object('sha256', r.snapshot_sha256, 'seq', r.snapshot_seq) end,
    (select json_agg(v) from (
      select run_id, seq, type, created_at, turn, attempt, data from events where run_id = h.run_id
      order by seq limit history_size) v)
  from executions mine join run_heads h on h.run_id = mine.run_id and h.execution_id = mine.execution_id
    join runs r on r.run_id = h.run_id left join environments e on e.environment_id = r.environment_id
  where mine.request_id = for_request
  order by array_position(taken, h.run_id);
  if not found then
    draining := is_draining;
    return next;
  end if;
end
$$;
