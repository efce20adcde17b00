-- Returns the transaction before which active_changes has no rows that count. After a database was copied to another
-- installation of PostgreSQL, the stored number may be one that has not been reached yet, and is ignored.
create or replace function outrider_folded_before() returns xid8 language plpgsql stable as $$
declare
  horizon xid8;
begin
  select f.folded_before into horizon from active_fold f where f.is_only_row;
  return case when horizon > pg_snapshot_xmax(pg_current_snapshot()) then '0'::xid8 else horizon end;
end
$$;
