-- Replaces a reservation with the actual cost after a model call. It has no effect if the run already has a newer
-- reservation.
create or replace function outrider_settle(p_run_id uuid, p_reservation_id uuid, p_cost float8) returns void language plpgsql as $$
declare
  reservation reservations;
begin
  select * into reservation from reservations r where r.run_id = p_run_id for update;
  if reservation.reservation_id = p_reservation_id then
    perform outrider_settle_reservation(reservation, reservation.execution_id, p_cost);
  end if;
end
$$;
