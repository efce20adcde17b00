-- Returns the share of a rate limit to grant: at most an eighth of the remaining allowance, but at least one if any
-- remains.
create or replace function outrider_rate_share(p_wanted integer, p_remaining integer) returns integer language sql immutable as $$
  select greatest(0, least(p_wanted, greatest(1, p_remaining / 8), p_remaining))
$$;
