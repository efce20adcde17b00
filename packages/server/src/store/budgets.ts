import type { Sql } from "./connection/db.ts";

export interface ReservationRequest {
  runId: string;
  executionId: string;
  reservationId: string;
  /** The run's total cost so far. */
  cost: number;
  /** The maximum cost of the next model call. */
  usd: number;
  /** The installation's daily limit, if there is one. */
  maxTotal?: number | undefined;
}

export interface ReservationResult {
  is_limited: boolean;
  /** The exceeded limit: `installation`, or `key` followed by the key's ID. */
  refused_by: string | null;
  limit_usd: number | null;
  used_usd: number | null;
}

/** Reserves the cost of a model call; see functions/outrider_reserve.sql. Returns undefined if the lease is lost. */
export async function reserveCost(
  sql: Sql,
  { runId, executionId, reservationId, cost, usd, maxTotal }: ReservationRequest,
): Promise<ReservationResult | undefined> {
  const [row] = await sql<ReservationResult[]>`
    select * from outrider_reserve(${runId}, ${executionId}, ${reservationId}, ${cost}, ${usd}, ${maxTotal ?? null})`;
  return row;
}

export async function settleCost(
  sql: Sql,
  { runId, reservationId, cost }: Pick<ReservationRequest, "runId" | "reservationId" | "cost">,
): Promise<void> {
  await sql`select outrider_settle(${runId}, ${reservationId}, ${cost})`;
}

export interface DailyCosts {
  costs: { subject: string; usd: number }[];
  /** The start of the next UTC day. */
  resets_at: string;
}

/** Returns the amounts spent and reserved today. */
export async function findDailyCosts(sql: Sql, subjects: string[]): Promise<DailyCosts> {
  const [row] = await sql<DailyCosts[]>`
    with today as (select (outrider_now() at time zone 'UTC')::date as day)
    select coalesce((select json_agg(json_build_object('subject', d.subject, 'usd', d.usd)) from daily_costs d
        where d.subject = any(${subjects}) and d.day = today.day), '[]') as costs,
      (today.day + 1)::timestamp at time zone 'UTC' as resets_at
    from today`;
  return row as DailyCosts;
}

/** Deletes old rows. If a run outlives its reservation, the reserved amount remains part of that day's costs. */
export async function deleteOldCosts(sql: Sql): Promise<void> {
  await sql`delete from reservations where day < (outrider_now() at time zone 'UTC')::date - 7`;
  await sql`delete from daily_costs where day < (outrider_now() at time zone 'UTC')::date - 60`;
}
