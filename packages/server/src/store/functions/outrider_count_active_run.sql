-- The trigger that records in active_changes that a run became active or stopped being active (migration 0032).
create or replace function outrider_count_active_run() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.state = 'INPROGRESS' then
    insert into active_changes (owner_uid, key_id, environment_id, change)
    values (old.owner_uid, old.key_id, old.environment_id, -1);
  end if;
  if tg_op <> 'DELETE' and new.state = 'INPROGRESS' then
    insert into active_changes (owner_uid, key_id, environment_id, change)
    values (new.owner_uid, new.key_id, new.environment_id, 1);
  end if;
  return null;
end
$$;
