-- Replaces a reserved cost with the actual one. The caller must hold the reservation's row lock. If another execution
-- made the reservation, its worker was lost and the cost of its call is unknown, so at least the reserved amount is
-- counted as spent.
create or replace function outrider_settle_reservation(p_reservation reservations, p_execution_id uuid, p_cost float8) returns void language plpgsql as $$
declare
  actual float8 := greatest(p_cost - p_reservation.cost_usd, 0);
  subject_name text;
begin
  if p_reservation.execution_id <> p_execution_id then
    actual := greatest(actual, p_reservation.usd);
  end if;
  foreach subject_name in array p_reservation.subjects loop
    update daily_costs d set usd = d.usd + actual - p_reservation.usd where d.subject = subject_name and d.day = p_reservation.day;
  end loop;
  update reservations r set usd = 0, cost_usd = p_cost, execution_id = p_execution_id where r.run_id = p_reservation.run_id;
end
$$;
