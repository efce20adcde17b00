-- Returns a histogram from the counts of some bins. The result is null if there are none.
create or replace function outrider_usage_bins(p_counts jsonb) returns integer[] language sql immutable parallel safe as $$
  select case when p_counts is not null then
    array(select coalesce((p_counts ->> b::text)::int, 0) from generate_series(0, 47) b order by b) end
$$;
