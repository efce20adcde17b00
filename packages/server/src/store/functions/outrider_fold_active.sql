-- Moves all rows of active_changes that are visible to active_counts. Claims call it when many rows have piled up. Returns
-- false if another transaction is folding.
--
-- How active runs are counted:
-- 1. A trigger on run_state appends a row to active_changes in the transaction that changes the run (migration 0032).
-- 2. The number of active runs is the number in active_counts plus the visible rows of active_changes. One statement reads
--    both, so it sees each change exactly once, whether it was folded or not.
-- 3. A fold deletes the rows that it sees and adds exactly these to active_counts, in one statement.
--
-- Why no limit is exceeded: only claims increase a number, and a claim reads the numbers while it holds the claim lock, so
-- it sees the changes of all earlier claims. A decrease that has not been committed yet is not seen, which only makes the
-- claim more careful.
--
-- Every row that is left, or becomes visible later, was written by a transaction that this fold's snapshot does not see as
-- finished. folded_before is the oldest of these, so readers can start there. Only folds write active_counts, one at a time,
-- so nothing waits for these rows.
create or replace function outrider_fold_active() returns boolean language plpgsql as $$
declare
  horizon xid8;
begin
  if not pg_try_advisory_xact_lock(7286011436) then
    return false;
  end if;
  -- Taken before the rows are read: a transaction that ends in between may stay before the horizon only if it is folded.
  horizon := pg_snapshot_xmin(pg_current_snapshot());
  with folded as (
    delete from active_changes c where c.xid >= (select outrider_folded_before())
    returning c.owner_uid, c.key_id, c.environment_id, c.change
  )
  merge into active_counts t
  using (
    select n.kind, n.id, sum(f.change) as change
    from folded f cross join lateral (values
      ('installation', '00000000-0000-0000-0000-000000000000'::uuid), ('agent', f.owner_uid), ('key', f.key_id),
      ('environment', f.environment_id)) n(kind, id)
    where n.id is not null group by n.kind, n.id having sum(f.change) <> 0
  ) s on t.kind = s.kind and t.id = s.id
  when matched and t.count + s.change = 0 then delete
  when matched then update set count = t.count + s.change
  when not matched then insert (kind, id, count) values (s.kind, s.id, s.change);
  update active_fold set folded_before = horizon where is_only_row;
  return true;
end
$$;
