-- Adds two histograms. Null is an empty one.
create or replace function outrider_usage_add(p_one integer[], p_other integer[]) returns integer[]
language sql immutable parallel safe as $$
  select case when p_one is null then p_other when p_other is null then p_one else
    array(select coalesce(a, 0) + coalesce(b, 0) from unnest(p_one, p_other) with ordinality u(a, b, i) order by i) end
$$;
