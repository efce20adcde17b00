-- Returns whether a run of the pool waits for a worker: one in the queue, or one of any pool whose worker was lost. If p_pool is
-- null, the runs of all pools count. Servers with idle workers repeat this, so it reads at most one row of each index.
--
-- A function in PL/pgSQL keeps its plans, while one in SQL would be planned for each statement that calls it.
create or replace function outrider_has_waiting_runs(p_pool text) returns boolean language plpgsql stable
-- The plans may have been made while the table was small.
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  if p_pool is null then
    if exists (select 1 from run_state h where h.state = 'QUEUED') then
      return true;
    end if;
  elsif p_pool = 'default'
      and exists (select 1 from run_state h where h.state = 'QUEUED' and coalesce(h.requirement_id, 0) = 0) then
    return true;
  elsif exists (
      select 1 from worker_requirements r
      where r.pool = p_pool and exists (
        select 1 from run_state h where h.state = 'QUEUED' and coalesce(h.requirement_id, 0) = r.requirement_id)) then
    return true;
  end if;
  -- The order makes PostgreSQL use the index of lost runs. Most runs have no execution, so it would otherwise expect to find one
  -- soon in the whole table or in the index of all open runs.
  return exists (select 1 from (
    select 1 from run_state h where h.state = 'INPROGRESS' and h.execution_id is null
    order by h.priority desc, h.queued_at, h.run_id limit 1) lost);
end
$$;
