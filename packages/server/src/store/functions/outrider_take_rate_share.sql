-- Takes a share of the allowance that remains in a rate limit's current window. A single share never uses up a large
-- allowance, because requests that one server reserves but does not use would be rejected by the other servers. Shares
-- shrink to one request as the limit approaches.
create or replace function outrider_take_rate_share(p_subject text, p_wanted integer, p_max integer, p_window_seconds integer)
returns table (window_start float, granted integer, remaining integer, left_ms float) language plpgsql as $$
#variable_conflict use_column
declare
  now timestamptz := outrider_now();
  width interval := make_interval(secs => p_window_seconds);
  current_window timestamptz := date_bin(width, now, timestamptz 'epoch');
begin
  -- Does not wait for the disk, because a database crash would lose less than a second of grants.
  perform set_config('synchronous_commit', 'off', true);
  insert into rate_windows as w (subject, window_start, taken, granted)
  select p_subject, current_window, share, share from (select outrider_rate_share(p_wanted, p_max) as share) first
  on conflict (subject) do update set window_start = current_window,
    granted = outrider_rate_share(p_wanted, p_max - case when w.window_start = current_window then w.taken else 0 end),
    taken = case when w.window_start = current_window then w.taken else 0 end
      + outrider_rate_share(p_wanted, p_max - case when w.window_start = current_window then w.taken else 0 end)
  returning w.granted, p_max - w.taken into outrider_take_rate_share.granted, outrider_take_rate_share.remaining;
  outrider_take_rate_share.window_start := extract(epoch from current_window);
  left_ms := extract(epoch from current_window + width - now) * 1000;
  return next;
end
$$;
