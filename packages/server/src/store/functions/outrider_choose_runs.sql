-- Chooses the next runs for a worker of the default pool without labels. This version calls outrider_choose_batch.
create or replace function outrider_choose_runs(
  p_worker_id uuid, p_free integer, p_max_total integer, p_takes_harnesses boolean)
returns uuid[] language sql as $$
  select coalesce(array_agg(c.run_id), '{}') from outrider_choose_batch('default', jsonb_build_array(jsonb_build_object(
    'worker_id', p_worker_id, 'free', p_free, 'takes_harnesses', p_takes_harnesses)), p_max_total, false) c
$$;
