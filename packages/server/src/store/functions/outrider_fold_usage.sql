-- Folds up to p_limit rows of usage_changes into usage_rollups and returns how many there were. The rows are deleted in the
-- same transaction, so each counts exactly once. Returns 0 if another server is folding.
--
-- 1. Each change becomes one or two parts: the run's state and duration belong to the hour of its creation, usage and wait
--    to the hour of the change.
-- 2. Each part counts in the installation and in its environment, by hour and by day, in total and by dimension. Hours are
--    kept for 14 days, so older parts only count by day.
-- 3. Failures have a dimension of their own, by error code and environment.
create or replace function outrider_fold_usage(p_limit integer) returns integer language plpgsql
-- Only one server folds at a time, so memory for its sorts is well spent.
set work_mem = '64MB'
as $$
declare
  installation uuid := '00000000-0000-0000-0000-000000000000';
  folded integer;
begin
  if not pg_try_advisory_xact_lock(7286011435) then
    return 0;
  end if;
  with taken as materialized (
    delete from usage_changes where ctid = any(array(select c.ctid from usage_changes c limit p_limit)) returning *
  ),
  change as materialized (
    select t.*, date_trunc('hour', t.created_at, 'UTC') as created_hour, date_trunc('hour', t.changed_at, 'UTC') as changed_hour,
      coalesce(t.environment_id::text, '') as environment_key,
      case when t.creator_type = 'user' then t.creator_uid::text else '' end as user_key,
      case when t.creator_type = 'user' then '' else t.creator_uid::text end as agent_key,
      coalesce((t.to_state = 'SUCCEEDED')::int, 0) - coalesce((t.from_state = 'SUCCEEDED')::int, 0) as succeeded,
      coalesce((t.to_state = 'FAILED')::int, 0) - coalesce((t.from_state = 'FAILED')::int, 0) as failed,
      coalesce((t.to_state = 'CANCELLED')::int, 0) - coalesce((t.from_state = 'CANCELLED')::int, 0) as cancelled,
      coalesce((t.to_state in ('QUEUED', 'INPROGRESS', 'BLOCKED'))::int, 0)
        - coalesce((t.from_state in ('QUEUED', 'INPROGRESS', 'BLOCKED'))::int, 0) as unfinished,
      outrider_usage_bin(t.from_seconds) as from_bin, outrider_usage_bin(t.to_seconds) as to_bin,
      outrider_usage_bin(t.wait_seconds) as wait_bin
    from taken t
  ),
  part as (
    select c.created_hour as hour, c.environment_id, c.environment_key, c.model_id, c.user_key, c.agent_key, c.source,
      c.succeeded, c.failed, c.cancelled, c.unfinished, c.from_bin, c.to_bin,
      case when c.is_same then c.wait_bin end as wait_bin,
      case when c.is_same then c.cost_usd else 0 end as cost_usd,
      case when c.is_same then c.input_tokens else 0 end as input_tokens,
      case when c.is_same then c.cached_input_tokens else 0 end as cached_input_tokens,
      case when c.is_same then c.output_tokens else 0 end as output_tokens,
      case when c.is_same then c.run_seconds else 0 end as run_seconds
    from (select c.*, c.created_hour = c.changed_hour as is_same from change c) c
    union all
    select c.changed_hour, c.environment_id, c.environment_key, c.model_id, c.user_key, c.agent_key, c.source,
      0, 0, 0, 0, null, null, c.wait_bin, c.cost_usd, c.input_tokens, c.cached_input_tokens, c.output_tokens, c.run_seconds
    from change c where c.created_hour <> c.changed_hour
  ),
  -- Most parts have everything but their numbers in common, so they are added up before each counts in two dozen places.
  summed as materialized (
    select p.hour, p.environment_id, p.environment_key, p.model_id, p.user_key, p.agent_key, p.source,
      p.from_bin, p.to_bin, p.wait_bin, count(*) as parts,
      sum(p.succeeded) as succeeded, sum(p.failed) as failed, sum(p.cancelled) as cancelled, sum(p.unfinished) as unfinished,
      sum(p.cost_usd) as cost_usd, sum(p.input_tokens) as input_tokens, sum(p.cached_input_tokens) as cached_input_tokens,
      sum(p.output_tokens) as output_tokens, sum(p.run_seconds) as run_seconds
    from part p group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
  ),
  counted as materialized (
    select s.environment_id, d.dimension, g.granularity, g.starts_at, d.key, p.succeeded, p.failed, p.cancelled, p.unfinished,
      p.from_bin, p.to_bin, p.wait_bin, p.parts, p.cost_usd, p.input_tokens, p.cached_input_tokens, p.output_tokens,
      p.run_seconds
    from summed p
    cross join lateral (values ('hour', p.hour), ('day', date_trunc('day', p.hour, 'UTC'))) g(granularity, starts_at)
    cross join lateral (values (installation), (p.environment_id)) s(environment_id)
    cross join lateral (values ('total', ''), ('model', p.model_id), ('environment', p.environment_key), ('user', p.user_key),
      ('agent', p.agent_key), ('source', p.source)) d(dimension, key)
    where s.environment_id is not null and (d.dimension <> 'environment' or s.environment_id = installation)
      and (g.granularity = 'day' or p.hour > outrider_now() - interval '15 days')
    union all
    select s.environment_id, 'failure', g.granularity, g.starts_at, f.error || ' ' || c.environment_key, 0, f.count, 0, 0,
      null, null, null, 1, 0, 0, 0, 0, 0
    from (select * from change where from_error is not null or to_error is not null) c
    cross join lateral (values (c.from_error, -1), (c.to_error, 1)) f(error, count)
    cross join lateral (values ('hour', c.created_hour), ('day', date_trunc('day', c.created_hour, 'UTC'))) g(granularity, starts_at)
    cross join lateral (values (installation), (c.environment_id)) s(environment_id)
    where f.error is not null and s.environment_id is not null
      and (g.granularity = 'day' or c.created_hour > outrider_now() - interval '15 days')
  ),
  total as (
    select n.environment_id, n.dimension, n.granularity, n.starts_at, n.key,
      sum(n.succeeded) as succeeded, sum(n.failed) as failed, sum(n.cancelled) as cancelled, sum(n.unfinished) as unfinished,
      sum(n.cost_usd) as cost_usd, sum(n.input_tokens) as input_tokens, sum(n.cached_input_tokens) as cached_input_tokens,
      sum(n.output_tokens) as output_tokens, sum(n.run_seconds) as run_seconds
    from counted n group by 1, 2, 3, 4, 5
  ),
  -- The bins that change, as objects from bin to count.
  histogram as (
    select b.environment_id, b.dimension, b.granularity, b.starts_at, b.key,
      jsonb_object_agg(b.bin, b.count) filter (where b.is_duration) as durations,
      jsonb_object_agg(b.bin, b.count) filter (where not b.is_duration) as waits
    from (
      select n.environment_id, n.dimension, n.granularity, n.starts_at, n.key, v.bin, v.is_duration, sum(v.count * n.parts) as count
      from counted n
      cross join lateral (values (n.from_bin, true, -1), (n.to_bin, true, 1), (n.wait_bin, false, 1)) v(bin, is_duration, count)
      where v.bin is not null group by 1, 2, 3, 4, 5, 6, 7
    ) b group by 1, 2, 3, 4, 5
  ),
  stored as (
    insert into usage_rollups as r (environment_id, dimension, granularity, starts_at, key, succeeded, failed, cancelled,
      unfinished, cost_usd, input_tokens, cached_input_tokens, output_tokens, run_seconds, durations, waits)
    select t.environment_id, t.dimension, t.granularity, t.starts_at, t.key, t.succeeded, t.failed, t.cancelled, t.unfinished,
      t.cost_usd, t.input_tokens, t.cached_input_tokens, t.output_tokens, t.run_seconds,
      outrider_usage_bins(h.durations), outrider_usage_bins(h.waits)
    from total t left join histogram h using (environment_id, dimension, granularity, starts_at, key)
    on conflict (environment_id, dimension, granularity, starts_at, key) do update set
      succeeded = r.succeeded + excluded.succeeded, failed = r.failed + excluded.failed,
      cancelled = r.cancelled + excluded.cancelled, unfinished = r.unfinished + excluded.unfinished,
      cost_usd = r.cost_usd + excluded.cost_usd, input_tokens = r.input_tokens + excluded.input_tokens,
      cached_input_tokens = r.cached_input_tokens + excluded.cached_input_tokens,
      output_tokens = r.output_tokens + excluded.output_tokens, run_seconds = r.run_seconds + excluded.run_seconds,
      durations = outrider_usage_add(r.durations, excluded.durations),
      waits = outrider_usage_add(r.waits, excluded.waits)
  )
  select count(*) into folded from taken;
  if folded > 0 then
    update usage_tasks set done_at = outrider_now() where name = 'fold';
  end if;
  return folded;
end
$$;
