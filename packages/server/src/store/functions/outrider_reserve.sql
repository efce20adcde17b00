-- Reserves the maximum cost of a run's next model call in all of the run's budgets, or in none if one would be
-- exceeded. Returns no row if the lease is lost. To avoid deadlocks, rows of daily_costs are always locked in the same
-- order, starting with the installation's.
create or replace function outrider_reserve(
  p_run_id uuid, p_execution_id uuid, p_reservation_id uuid, p_cost float8, p_usd float8, p_max_total float8)
returns table (is_limited boolean, refused_by text, limit_usd float8, used_usd float8) language plpgsql as $$
declare
  today date := (outrider_now() at time zone 'UTC')::date;
  run_key_id uuid;
  key_limit float8;
  limit_subjects text[] := '{}';
  limit_values float8[] := '{}';
  reservation reservations;
begin
  select h.key_id, (k.limits ->> 'max_cost_usd_per_day')::float8 into run_key_id, key_limit
  from run_state h left join keys k on k.key_id = h.key_id
  where h.run_id = p_run_id and h.execution_id = p_execution_id and h.state = 'INPROGRESS';
  if not found then
    return;
  end if;
  if p_max_total is not null then
    limit_subjects := limit_subjects || 'installation'::text;
    limit_values := limit_values || p_max_total;
  end if;
  if key_limit is not null then
    limit_subjects := limit_subjects || ('key ' || run_key_id);
    limit_values := limit_values || key_limit;
  end if;
  is_limited := limit_subjects <> '{}';
  if not is_limited then
    return next;
    return;
  end if;
  select * into reservation from reservations r where r.run_id = p_run_id for update;
  if found then
    perform outrider_settle_reservation(reservation, p_execution_id, p_cost);
  end if;
  for i in 1 .. cardinality(limit_subjects) loop
    insert into daily_costs as d (subject, day) values (limit_subjects[i], today)
    on conflict (subject, day) do update set usd = d.usd returning d.usd into used_usd;
    limit_usd := limit_values[i];
    if used_usd + p_usd > limit_usd then
      refused_by := limit_subjects[i];
      return next;
      return;
    end if;
  end loop;
  update daily_costs d set usd = d.usd + p_usd where d.subject = any(limit_subjects) and d.day = today;
  insert into reservations (run_id, reservation_id, execution_id, subjects, day, usd, cost_usd)
  values (p_run_id, p_reservation_id, p_execution_id, limit_subjects, today, p_usd, p_cost)
  on conflict (run_id) do update
    set reservation_id = p_reservation_id, execution_id = p_execution_id, subjects = limit_subjects, day = today, usd = p_usd;
  return next;
end
$$;
