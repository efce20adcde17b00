-- Returns how much each number in active_counts has changed since the last fold. The number of active runs is the sum of
-- both, which must be read in one statement, because a fold moves changes from one to the other.
create or replace function outrider_active_changes() returns table (kind text, id uuid, change integer)
language sql stable as $$
  select n.kind, n.id, sum(c.change)::integer
  from active_changes c cross join lateral (values
    ('installation', '00000000-0000-0000-0000-000000000000'::uuid), ('agent', c.owner_uid), ('key', c.key_id),
    ('environment', c.environment_id)) n(kind, id)
  where c.xid >= (select outrider_folded_before()) and n.id is not null
  group by n.kind, n.id
$$;
