-- How much of a minute's allowance of requests is given out, for each that has one: a key, a person, an address. Servers
-- take shares of it ahead and count within them, so that a row changes far less often than requests come.
create table rate_windows (
  subject text primary key,
  began timestamptz not null,
  taken integer not null,
  granted integer not null
) with (fillfactor = 50);

-- A share of what is left in the window that is now. It is never all: whoever asks later on another server must not be
-- refused for what lies unused on this one. So shares become smaller as the limit comes near, down to one.
create function outrider_take(of_subject text, wanted integer, most integer, window_seconds integer)
returns table (began float, granted integer, rest integer, left_ms float) language plpgsql as $$
#variable_conflict use_column
declare
  now timestamptz := outrider_now();
  width interval := make_interval(secs => window_seconds);
  start timestamptz := date_bin(width, now, timestamptz 'epoch');
begin
  -- What a crash of the database takes back is less than a second of grants, and not worth the wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  insert into rate_windows as w (subject, began, taken, granted)
  select of_subject, start, share, share from (select outrider_share(wanted, most) as share) first
  on conflict (subject) do update set began = start,
    granted = outrider_share(wanted, most - case when w.began = start then w.taken else 0 end),
    taken = case when w.began = start then w.taken else 0 end
      + outrider_share(wanted, most - case when w.began = start then w.taken else 0 end)
  returning w.granted, most - w.taken into outrider_take.granted, outrider_take.rest;
  outrider_take.began := extract(epoch from start);
  left_ms := extract(epoch from start + width - now) * 1000;
  return next;
end
$$;

create function outrider_share(wanted integer, rest integer) returns integer language sql immutable as $$
  select greatest(0, least(wanted, greatest(1, rest / 8), rest))
$$;

-- Dollars of one UTC day, spent or reserved, for each that has a limit: `installation`, or `key` and its id. A reservation
-- counts as spent from the beginning. If nobody settles it, because its worker died, it simply stays so.
create table daily_costs (
  subject text not null,
  day date not null,
  usd float8 not null default 0,
  primary key (subject, day)
) with (fillfactor = 50);

-- What a run has reserved for its current model call, and what it had cost when that was last settled. It stays when the
-- call is over, with nothing reserved, so that what a run costs beyond its reservations is counted with the next.
create table reservations (
  run_id uuid primary key,
  reservation_id uuid not null,
  execution_id uuid not null,
  subjects text[] not null,
  day date not null,
  usd float8 not null,
  cost_usd float8 not null
) with (fillfactor = 50);
create index reservations_day on reservations (day);

-- Puts what a run has really cost in the place of what it had reserved, under the lock of its row. Where the execution that
-- reserved it is lost, nobody knows what came of its call: at least what was reserved stays spent.
create function outrider_settle_held(held reservations, by_execution uuid, cost float8) returns void language plpgsql as $$
declare
  actual float8 := greatest(cost - held.cost_usd, 0);
  one text;
begin
  if held.execution_id <> by_execution then
    actual := greatest(actual, held.usd);
  end if;
  foreach one in array held.subjects loop
    update daily_costs d set usd = d.usd + actual - held.usd where d.subject = one and d.day = held.day;
  end loop;
  update reservations r set usd = 0, cost_usd = cost, execution_id = by_execution where r.run_id = held.run_id;
end
$$;

-- After the call. A word that comes late, when the run has reserved something else, changes nothing.
create function outrider_settle(of_run uuid, its_reservation uuid, cost float8) returns void language plpgsql as $$
declare
  held reservations;
begin
  select * into held from reservations r where r.run_id = of_run for update;
  if held.reservation_id = its_reservation then
    perform outrider_settle_held(held, held.execution_id, cost);
  end if;
end
$$;

-- Reserves what the next model call of a run may cost, from every limit that holds for the run, or from none. No row: the
-- lease is lost. All who come here lock the same rows in the same order: by day, and the installation's first.
create function outrider_reserve(
  of_run uuid, by_execution uuid, its_reservation uuid, cost float8, wanted float8, max_total float8)
returns table (is_limited boolean, refused_by text, limit_usd float8, used_usd float8) language plpgsql as $$
declare
  today date := (outrider_now() at time zone 'UTC')::date;
  key_id uuid;
  max_of_key float8;
  names text[] := '{}';
  maxima float8[] := '{}';
  held reservations;
begin
  select h.key_id, (k.limits ->> 'max_cost_usd_per_day')::float8 into key_id, max_of_key
  from run_heads h left join keys k on k.key_id = h.key_id
  where h.run_id = of_run and h.execution_id = by_execution and h.state = 'INPROGRESS';
  if not found then
    return;
  end if;
  if max_total is not null then
    names := names || 'installation'::text;
    maxima := maxima || max_total;
  end if;
  if max_of_key is not null then
    names := names || ('key ' || key_id);
    maxima := maxima || max_of_key;
  end if;
  is_limited := names <> '{}';
  if not is_limited then
    return next;
    return;
  end if;
  select * into held from reservations r where r.run_id = of_run for update;
  if found then
    perform outrider_settle_held(held, by_execution, cost);
  end if;
  for place in 1 .. cardinality(names) loop
    insert into daily_costs as d (subject, day) values (names[place], today)
    on conflict (subject, day) do update set usd = d.usd returning d.usd into used_usd;
    limit_usd := maxima[place];
    if used_usd + wanted > limit_usd then
      refused_by := names[place];
      return next;
      return;
    end if;
  end loop;
  update daily_costs d set usd = d.usd + wanted where d.subject = any(names) and d.day = today;
  insert into reservations (run_id, reservation_id, execution_id, subjects, day, usd, cost_usd)
  values (of_run, its_reservation, by_execution, names, today, wanted, cost)
  on conflict (run_id) do update
    set reservation_id = its_reservation, execution_id = by_execution, subjects = names, day = today, usd = wanted;
  return next;
end
$$;
