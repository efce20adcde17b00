import type postgres from "postgres";
import type { Sql } from "./connection/db.ts";

/** A page ends once it contains this many characters. */
const MAX_CHARACTERS = 1024 * 1024;
/** The estimated uncompressed size that one statement may read. */
const MAX_BYTES = 2 * 1024 * 1024;
/** The assumed ratio for compressed values. The actual ratio is rarely higher. */
const COMPRESSION_RATIO = 64;

interface LoggedEvent {
  seq: number;
  data: object;
  private?: object | null | undefined;
}

export interface LogRange {
  after: number;
  limit: number;
}

export interface LogPage<E> {
  events: E[];
  /** True if there are more events but the page was cut short because they are large. */
  isTruncated: boolean;
}

/** Selects the events of one log in a range, in order. Private data, if selected, counts towards a page's size. */
type SelectEvents = (range: LogRange) => postgres.PendingQuery<postgres.Row[]>;

/**
 * Returns the events after `after`, in order: up to `limit`, or fewer if they are large. The size is limited because
 * parsing blocks the event loop and the page remains in memory while a slow client reads it. A single event can be as
 * large as a thousand typical ones.
 */
export async function readLogPage<E extends LoggedEvent>(
  sql: Sql,
  { after, limit }: LogRange,
  select: SelectEvents,
  { withPrivate = false } = {},
): Promise<LogPage<E>> {
  const events: E[] = [];
  for (let characters = 0; ; ) {
    const range = { after: events.at(-1)?.seq ?? after, limit: limit - events.length };
    const { rows, isTruncated } = await readBatch<E>(sql, select(range), { withPrivate });
    for (const row of rows) characters += estimateLength(row.data) + estimateLength(row.private ?? {});
    events.push(...rows);
    if (!isTruncated || characters >= MAX_CHARACTERS) return { events, isTruncated };
  }
}

/** Reads as many events as are certain to fit, but at least one. */
async function readBatch<E extends LoggedEvent>(
  sql: Sql,
  selected: ReturnType<SelectEvents>,
  { withPrivate }: { withPrivate: boolean },
): Promise<{ rows: E[]; isTruncated: boolean }> {
  const found = await sql<(E & { bytes: string; before: string; behind: string })[]>`
    select * from (
      select e.*, count(*) over () - row_number() over in_order as behind, sum(bytes) over in_order - bytes as before
      from (
        select e.*,
          pg_column_size(data) * case when pg_column_compression(data) is null then 1 else ${COMPRESSION_RATIO} end
            + ${withPrivate ? sql`coalesce(pg_column_size(private), 0)` : sql`0`} as bytes
        from (${selected}) e
      ) e window in_order as (order by seq)
    ) e where before < ${MAX_BYTES} order by seq`;
  const isTruncated = Number(found.at(-1)?.behind ?? 0) > 0;
  return {
    rows: found.map(({ bytes: _, before: __, behind: ___, ...event }) => event as unknown as E),
    isTruncated,
  };
}

/** Estimates the length of the JSON without serializing long strings, most of which are at the top level. */
function estimateLength(data: object): number {
  let sum = 0;
  for (const value of Object.values(data)) {
    if (typeof value === "string") sum += value.length;
    else if (typeof value === "object") sum += JSON.stringify(value).length;
  }
  return sum;
}
