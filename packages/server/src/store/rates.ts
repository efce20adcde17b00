import type { Sql } from "./db.ts";

export interface Grant {
  /** The window, by the second in which it began. */
  began: number;
  granted: number;
  /** Of the window's allowance, what nobody has taken. */
  rest: number;
  /** Until the window ends. */
  left_ms: number;
}

export interface Rate {
  max: number;
  windowSeconds: number;
}

/** A share of what is left of an allowance in this window; see the migration that makes the function. */
export async function takeShare(
  sql: Sql,
  subject: string,
  wanted: number,
  { max, windowSeconds }: Rate,
): Promise<Grant> {
  const [row] = await sql<Grant[]>`
    select began, granted, rest, left_ms from outrider_take(${subject}, ${wanted}, ${max}, ${windowSeconds})`;
  return row as Grant;
}

/** What nobody has taken of an allowance, without taking any. */
export async function findRest(
  sql: Sql,
  subject: string,
  { max, windowSeconds }: Rate,
): Promise<Pick<Grant, "rest" | "left_ms">> {
  const [row] = await sql<Pick<Grant, "rest" | "left_ms">[]>`
    with at as materialized (select outrider_now() as now),
    of_now as (select date_bin(make_interval(secs => ${windowSeconds}), now, timestamptz 'epoch') as start, now from at)
    select ${max} - coalesce((select taken from rate_windows where subject = ${subject} and began = start), 0) as rest,
      (extract(epoch from start + make_interval(secs => ${windowSeconds}) - now) * 1000)::float as left_ms
    from of_now`;
  return row as Pick<Grant, "rest" | "left_ms">;
}

export async function deleteOldWindows(sql: Sql): Promise<void> {
  await sql`delete from rate_windows where began < outrider_now() - interval '10 minutes'`;
}
