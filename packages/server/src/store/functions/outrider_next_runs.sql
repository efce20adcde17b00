-- Chooses the next runs for a worker that does not take runs with a harness. This version calls outrider_choose_runs.
create or replace function outrider_next_runs(p_worker_id uuid, p_free integer, p_max_total integer) returns uuid[]
language sql as $$
  select outrider_choose_runs(p_worker_id, p_free, p_max_total, false)
$$;
