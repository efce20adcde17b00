-- The trigger that records each change of a run's state in usage_changes (migration 0028). It is a trigger so that runs
-- which a server of the previous version writes are counted too.
--
-- It only appends a row, so runs never wait for each other. run_state has the run's usage; its row is locked by
-- the caller, or does not exist yet if the run is being created. Setting counted_state to null counts usage that was
-- stored after the run ended, and runs from before the migration.
--
-- Values are bounded, because a sum that overflows would stop the fold.
create or replace function outrider_count_run() returns trigger language plpgsql as $$
declare
  now timestamptz := outrider_now();
  run_state_row record;
  usage jsonb;
  change usage_changes;
begin
  if tg_op = 'DELETE' then
    insert into usage_changes (created_at, changed_at, environment_id, model_id, creator_type, creator_uid, source, from_state)
    values (old.created_at, now, old.environment_id, old.model_id, old.creator_type, old.creator_uid, old.source,
      old.counted_state);
    return old;
  end if;

  change.changed_at := now;
  change.to_state := new.state;
  change.cost_usd := 0;
  change.input_tokens := 0;
  change.cached_input_tokens := 0;
  change.output_tokens := 0;
  change.run_seconds := 0;
  if tg_op = 'UPDATE' then
    change.from_state := old.counted_state;
    select h.usage, h.queued_at into run_state_row from run_state h where h.run_id = new.run_id;
    usage := run_state_row.usage;
    if old.counted_state is null then
      change.changed_at := coalesce(new.finished_at, new.updated_at);
    end if;
    if usage is not null then
      new.cost_usd := least(greatest((usage ->> 'cost_usd')::float8, old.cost_usd), 1e9);
      new.run_seconds := least(greatest((usage ->> 'run_seconds')::float8, old.run_seconds), 1e9);
      new.input_tokens := least(greatest((usage ->> 'input_tokens')::float8, old.input_tokens), 1e12);
      new.cached_input_tokens := least(greatest((usage ->> 'cached_input_tokens')::float8, old.cached_input_tokens), 1e12);
      new.output_tokens := least(greatest((usage ->> 'output_tokens')::float8, old.output_tokens), 1e12);
      change.cost_usd := new.cost_usd - old.cost_usd;
      change.run_seconds := new.run_seconds - old.run_seconds;
      change.input_tokens := new.input_tokens - old.input_tokens;
      change.cached_input_tokens := new.cached_input_tokens - old.cached_input_tokens;
      change.output_tokens := new.output_tokens - old.output_tokens;
    end if;
    if old.state = 'QUEUED' and new.state = 'INPROGRESS' then
      change.wait_seconds := extract(epoch from now - run_state_row.queued_at);
    elsif old.counted_state is null and new.started_at >= run_state_row.queued_at then
      change.wait_seconds := extract(epoch from new.started_at - run_state_row.queued_at);
    end if;
    if old.counted_state = 'FAILED' then
      change.from_error := coalesce(old.status_message ->> 'error_code', '');
    end if;
    if old.counted_state in ('SUCCEEDED', 'FAILED', 'CANCELLED') and old.run_seconds > 0 then
      change.from_seconds := old.run_seconds;
    end if;
  end if;
  if new.state = 'FAILED' then
    change.to_error := coalesce(new.status_message ->> 'error_code', '');
  end if;
  if new.state in ('SUCCEEDED', 'FAILED', 'CANCELLED') and new.run_seconds > 0 then
    change.to_seconds := new.run_seconds;
  end if;
  new.counted_state := new.state;
  -- An answered question, for example, changes nothing that is counted.
  if change.from_state in ('QUEUED', 'INPROGRESS', 'BLOCKED') and change.to_state in ('QUEUED', 'INPROGRESS', 'BLOCKED')
    and change.wait_seconds is null and change.cost_usd = 0 and change.run_seconds = 0
    and change.input_tokens + change.cached_input_tokens + change.output_tokens = 0 then
    return new;
  end if;
  insert into usage_changes (created_at, changed_at, environment_id, model_id, creator_type, creator_uid, source,
    from_state, to_state, from_error, to_error, from_seconds, to_seconds, wait_seconds, cost_usd, input_tokens,
    cached_input_tokens, output_tokens, run_seconds)
  values (new.created_at, change.changed_at, new.environment_id, new.model_id, new.creator_type, new.creator_uid, new.source,
    change.from_state, change.to_state, change.from_error, change.to_error, change.from_seconds, change.to_seconds,
    change.wait_seconds, change.cost_usd, change.input_tokens, change.cached_input_tokens, change.output_tokens,
    change.run_seconds);
  return new;
end
$$;
