-- A claim is one statement: what it reads and writes happens here, because each further question to the database would
-- take longer than its answer, under the one lock that all claims share. Each statement of a function sees what was
-- committed before it began, so what is read below the lock is what stands.

-- What claims ask for, and changes only when a run changes its state.
create index run_heads_abandoned on run_heads (priority desc, queued_at, run_id)
  where state = 'INPROGRESS' and execution_id is null;
create index followups_waiting on followups (run_id) where delivery = 'queued';
create index keys_limited on keys (key_id) where limits ? 'max_concurrent_runs';
create index environments_limited on environments (environment_id) where config ? 'max_concurrent_runs';
create index identities_limited on identities (uid) where max_concurrent_runs is not null;

-- Who keeps the sandbox of a run that has ended is asked first when it goes on.
alter table run_heads add column kept_worker_id uuid, add column kept_until timestamptz;

-- What really ran, as the worker of the latest turn saw it.
alter table runs add column receipt jsonb;

-- Who writes these rows holds the run's head, so the run is there, and a claim has just seen its worker. To ask again for
-- each row cost more than to write it. Who deletes a run deletes them with it.
alter table executions drop constraint executions_worker_id_fkey, drop constraint executions_run_id_fkey;
alter table events drop constraint events_run_id_fkey;

-- Every limit there is. Its name tells what it counts.
create view concurrency_limits as
  select 'key' as kind, key_id as id, (limits -> 'max_concurrent_runs')::int as max from keys
    where limits ? 'max_concurrent_runs'
  union all
  select 'environment', environment_id, (config -> 'max_concurrent_runs')::int from environments
    where config ? 'max_concurrent_runs'
  union all
  select 'agent', uid, max_concurrent_runs from identities where max_concurrent_runs is not null;

-- Delivers what waits for a run: the message's event is written in the transaction that marks it, before any model sees
-- it. With `steering`, what waits for the end of the turn goes on waiting. The caller holds the run's lock.
create function outrider_deliver(of_run uuid, to_execution uuid, in_batch integer, steering boolean)
returns table (followup_id uuid, message text, mode text, seq integer) language sql as $$
  with waiting as materialized (
    select f.followup_id, f.message, f.mode, row_number() over (order by f.position)::int as place,
      count(*) over ()::int as count
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
      jsonb_build_object('text', w.message, 'followup_id', w.followup_id, 'mode', w.mode)
    from waiting w, head h
  )
  update followups f
  set delivery = 'delivered', seq = h.before + w.place, execution_id = to_execution, batch = in_batch
  from waiting w, head h where f.followup_id = w.followup_id
  returning f.followup_id, f.message, f.mode, f.seq
$$;

-- A worker's report in its usual form, and the usual end of a turn, are one statement each as well. Both lock the run's row
-- by its token, and what they read after that is what stands. Where anything is out of the ordinary (a repetition, another
-- batch, a lost lease, for an end also a message that waits), they write nothing, and the caller looks what it is.

create function outrider_report(
  of_run uuid, by_execution uuid, in_batch integer, its_events jsonb, its_phase text, its_usage jsonb,
  its_receipt jsonb, shows boolean, takes_messages boolean)
returns table (last_seq integer, followups json) language plpgsql as $$
declare
  now timestamptz := outrider_now();
  count integer := jsonb_array_length(its_events);
  its_turn integer;
  its_attempt integer;
begin
  update run_heads h
  set last_seq = h.last_seq + count, report_batch = in_batch, phase = coalesce(its_phase, h.phase),
    usage = coalesce(its_usage, h.usage),
    working_at = case when its_phase = 'working' then coalesce(h.working_at, now) else h.working_at end,
    first_output_at = case when shows then coalesce(h.first_output_at, now) else h.first_output_at end
  where h.run_id = of_run and h.execution_id = by_execution and h.state = 'INPROGRESS' and h.report_batch = in_batch - 1
  returning h.last_seq, h.turn, h.attempt into outrider_report.last_seq, its_turn, its_attempt;
  if not found then
    return;
  end if;
  insert into events (run_id, seq, type, created_at, turn, attempt, data)
  select of_run, outrider_report.last_seq - count + e.place::int, e.event ->> 'type', now, its_turn, its_attempt,
    e.event -> 'data'
  from jsonb_array_elements(its_events) with ordinality e(event, place);
  if its_receipt is not null then
    update runs r set receipt = its_receipt where r.run_id = of_run;
  end if;
  if takes_messages and exists (
    select 1 from followups f where f.run_id = of_run and f.delivery = 'queued' and f.mode <> 'queue') then
    select json_agg(d order by d.seq), max(d.seq) into followups, outrider_report.last_seq
    from outrider_deliver(of_run, by_execution, in_batch, true) d;
  end if;
  return next;
end
$$;

create function outrider_end(
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
    status_message = its_message, receipt = coalesce(its_receipt, r.receipt)
  where r.run_id = of_run;
  update executions e set ended_at = now, outcome = to_state, final_batch = in_batch where e.execution_id = by_execution;
  insert into events (run_id, seq, type, created_at, turn, attempt, data)
  select of_run, head.last_seq + e.place::int, e.event ->> 'type', now, head.turn, head.attempt, e.event -> 'data'
  from jsonb_array_elements(its_events) with ordinality e(event, place);
  return true;
end
$$;

-- The runs that a worker with so much room gets next: what another worker lost, then by priority, then whose owner is
-- served least, then by age, never past a limit. The caller holds the lock of claims.
create function outrider_next(for_worker uuid, free integer, max_total integer) returns uuid[] language plpgsql as $$
declare
  chosen uuid[];
  -- Places left, by the name of a limit; places taken, by owner. Counted once and then kept.
  room jsonb;
  served jsonb;
  full_keys uuid[] := '{}';
  full_environments uuid[] := '{}';
  full_agents uuid[] := '{}';
  one record;
  name text;
begin
  select
    -- These have their places already and only want a worker.
    array(select run_id from run_heads where state = 'INPROGRESS' and execution_id is null
      order by priority desc, queued_at, run_id limit free),
    (select coalesce(jsonb_object_agg(l.kind || ' ' || l.id, l.max), '{}') from concurrency_limits l),
    (select coalesce(jsonb_object_agg(owner_uid, count), '{}')
      from (select owner_uid, count(*) from run_heads where state = 'INPROGRESS' group by owner_uid) busy)
  into chosen, room, served;
  if max_total is not null then
    room := room || jsonb_build_object('installation', max_total);
  end if;
  if room <> '{}' then
    select room || coalesce(jsonb_object_agg(busy.name, (room ->> busy.name)::int - busy.count), '{}') into room
    from (
      select n.name, count(*)::int as count
      from run_heads h cross join lateral (values ('installation'), ('agent ' || h.owner_uid),
        ('key ' || h.key_id), ('environment ' || h.environment_id)) n(name)
      where h.state = 'INPROGRESS' and room ? n.name group by n.name
    ) busy;
  end if;

  loop
    exit when cardinality(chosen) = free or (room -> 'installation')::int <= 0;
    if room <> '{}' then
      select coalesce(array_agg(id::uuid) filter (where kind = 'key'), '{}'),
        coalesce(array_agg(id::uuid) filter (where kind = 'environment'), '{}'),
        coalesce(array_agg(id::uuid) filter (where kind = 'agent'), '{}')
      into full_keys, full_environments, full_agents
      from (select split_part(key, ' ', 1) as kind, nullif(split_part(key, ' ', 2), '') as id
        from jsonb_each(room) where value::int <= 0) spent;
    end if;

    -- Walks the index from owner to owner and looks at the first run of each.
    with recursive owners as (
      (select owner_uid from run_heads where state = 'QUEUED' order by owner_uid limit 1)
      union all
      select (select h.owner_uid from run_heads h where h.state = 'QUEUED' and h.owner_uid > o.owner_uid
        order by h.owner_uid limit 1)
      from owners o where o.owner_uid is not null
    )
    select first.run_id, first.owner_uid, first.key_id, first.environment_id into one
    from owners o cross join lateral (
      select h.run_id, h.owner_uid, h.key_id, h.environment_id, h.priority, h.queued_at from run_heads h
      where h.state = 'QUEUED' and h.owner_uid = o.owner_uid and h.run_id <> all(chosen)
        and (h.closing_until is null or h.closing_until <= outrider_now())
        and (h.kept_until is null or h.kept_worker_id = for_worker or h.kept_until <= outrider_now()
          or h.queued_at <= outrider_now() - interval '2 s')
        and h.key_id <> all(full_keys)
        and (h.environment_id is null or h.environment_id <> all(full_environments))
      order by h.priority desc, h.queued_at, h.run_id limit 1
    ) first
    where o.owner_uid <> all(full_agents)
    order by first.priority desc, coalesce((served ->> o.owner_uid::text)::int, 0), first.queued_at, first.run_id
    limit 1;
    exit when not found;

    chosen := chosen || one.run_id;
    exit when cardinality(chosen) = free;
    served := served || jsonb_build_object(one.owner_uid::text, coalesce((served ->> one.owner_uid::text)::int, 0) + 1);
    continue when room = '{}';
    foreach name in array array['installation', 'agent ' || one.owner_uid, 'key ' || one.key_id,
      'environment ' || one.environment_id] loop
      if room ? name then
        room := room || jsonb_build_object(name, (room ->> name)::int - 1);
      end if;
    end loop;
  end loop;
  return chosen;
end
$$;

-- The whole claim. One row for each run, or one without a run, which says whether the worker is to drain. With `only_run`
-- it is part of the transaction that creates this run, and must not make it wait: it takes the run if it is free to, and
-- the run's turn has come, and otherwise nothing.
create function outrider_claim(
  for_worker uuid, its_name text, its_version text, its_slots integer, for_request uuid, free integer,
  lease_ms integer, turn_ms bigint, max_total integer, history_size integer, only_run uuid)
returns table (
  draining boolean, run_id uuid, execution_id uuid, turn integer, attempt integer, usage jsonb, turn_left_ms float,
  agent_config jsonb, sealed_config bytea, limits jsonb, environment_secrets jsonb, environment_variables jsonb,
  has_environment boolean, has_output_schema boolean, has_attachments boolean, receipt jsonb, snapshot jsonb, history json)
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
    r.environment_id is not null, r.output_schema is not null,
    exists (select 1 from attachments a where a.run_id = r.run_id), r.receipt,
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
