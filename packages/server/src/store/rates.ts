import type { Sql } from "./connection/db.ts";

export interface Grant {
  /** The start of the window, in seconds since the Unix epoch. */
  window_start: number;
  granted: number;
  /** The part of the window's allowance that no server has taken. */
  remaining: number;
  /** Milliseconds until the window ends. */
  left_ms: number;
}

export interface Rate {
  max: number;
  windowSeconds: number;
}

/** Takes a share of the current window's remaining allowance; see functions/outrider_take_rate_share.sql. */
export async function takeRateShare(
  sql: Sql,
  subject: string,
  wanted: number,
  { max, windowSeconds }: Rate,
): Promise<Grant> {
  const [row] = await sql<Grant[]>`
    select window_start, granted, remaining, left_ms from outrider_take_rate_share(${subject}, ${wanted}, ${max}, ${windowSeconds})`;
  return row as Grant;
}

/** Returns the current window's remaining allowance without taking any of it. */
export async function findRemaining(
  sql: Sql,
  subject: string,
  { max, windowSeconds }: Rate,
): Promise<Pick<Grant, "remaining" | "left_ms">> {
  const [row] = await sql<Pick<Grant, "remaining" | "left_ms">[]>`
    with at as materialized (select outrider_now() as now),
    current as (select date_bin(make_interval(secs => ${windowSeconds}), now, timestamptz 'epoch') as start, now from at)
    select ${max} - coalesce((select taken from rate_windows where subject = ${subject} and window_start = start), 0) as remaining,
      (extract(epoch from start + make_interval(secs => ${windowSeconds}) - now) * 1000)::float as left_ms
    from current`;
  return row as Pick<Grant, "remaining" | "left_ms">;
}

export async function deleteOldWindows(sql: Sql): Promise<void> {
  await sql`delete from rate_windows where window_start < outrider_now() - interval '10 minutes'`;
}
