-- Returns the bin of a histogram that a number of seconds belongs to. Bin 0 has values below 0.1 s. Each further bin ends at
-- 1.4 times the end of the previous one, so that 48 bins reach beyond a week (engine/usage/histogram.ts).
-- It has no `where`, so that PostgreSQL can insert its expression into a query instead of calling it for each row.
create or replace function outrider_usage_bin(p_seconds float8) returns integer language sql immutable parallel safe as $$
  select case when p_seconds is null then null when p_seconds < 0.1 then 0
    else least(47, 1 + floor(ln(p_seconds / 0.1) / ln(1.4::float8)))::int end
$$;
