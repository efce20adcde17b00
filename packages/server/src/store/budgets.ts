import type { Sql } from "./db.ts";

export interface Reserving {
  runId: string;
  executionId: string;
  reservationId: string;
  /** What the run has cost so far. */
  cost: number;
  /** What its next model call may cost. */
  usd: number;
  /** Of the installation, where there is a limit. */
  maxTotal?: number | undefined;
}

export interface Reserved {
  is_limited: boolean;
  /** The limit that has not so much left: `installation`, or `key` and its id. */
  refused_by: string | null;
  limit_usd: number | null;
  used_usd: number | null;
}

/** Undefined where the lease is lost. */
export async function reserveCost(
  sql: Sql,
  { runId, executionId, reservationId, cost, usd, maxTotal }: Reserving,
): Promise<Reserved | undefined> {
  const [row] = await sql<Reserved[]>`
    select * from outrider_reserve(${runId}, ${executionId}, ${reservationId}, ${cost}, ${usd}, ${maxTotal ?? null})`;
  return row;
}

export async function settleCost(
  sql: Sql,
  { runId, reservationId, cost }: Pick<Reserving, "runId" | "reservationId" | "cost">,
): Promise<void> {
  await sql`select outrider_settle(${runId}, ${reservationId}, ${cost})`;
}

export interface DailyCosts {
  costs: { subject: string; usd: number }[];
  /** When the next day begins. */
  resets_at: string;
}

/** What is spent and reserved today. */
export async function findDailyCosts(sql: Sql, subjects: string[]): Promise<DailyCosts> {
  const [row] = await sql<DailyCosts[]>`
    with today as (select (outrider_now() at time zone 'UTC')::date as day)
    select coalesce((select json_agg(json_build_object('subject', d.subject, 'usd', d.usd)) from daily_costs d
        where d.subject = any(${subjects}) and d.day = today.day), '[]') as costs,
      (today.day + 1)::timestamp at time zone 'UTC' as resets_at
    from today`;
  return row as DailyCosts;
}

/** A run may go on after its reservation is gone; what that had counted stays counted. */
export async function deleteOldCosts(sql: Sql): Promise<void> {
  await sql`delete from reservations where day < (outrider_now() at time zone 'UTC')::date - 7`;
  await sql`delete from daily_costs where day < (outrider_now() at time zone 'UTC')::date - 60`;
}
