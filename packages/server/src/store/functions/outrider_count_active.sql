-- Returns the number of active runs of an agent, key or environment, or of the installation if p_kind is `installation`.
-- It does not count them: its time depends on the number of changes since the last fold, which is small.
create or replace function outrider_count_active(p_kind text, p_id uuid) returns integer language plpgsql stable as $$
begin
  return coalesce((select n.count from active_counts n where n.kind = p_kind and n.id = p_id), 0)
    + coalesce((
      select sum(c.change) from active_changes c
      where c.xid >= (select outrider_folded_before()) and p_id = case p_kind when 'agent' then c.owner_uid when 'key' then c.key_id
        when 'environment' then c.environment_id else p_id end), 0);
end
$$;
