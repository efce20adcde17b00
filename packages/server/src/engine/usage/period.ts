import { type UsageInterval, usageLimits } from "@outrider/contract/usage";
import { invalidField } from "../api-error.ts";

/** A number of whole intervals, in UTC. */
export interface Period {
  interval: UsageInterval;
  /** The starts of the intervals. */
  starts: string[];
  from: string;
  to: string;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DEFAULT_INTERVALS = 30;
/** The first Monday after the Unix epoch. */
const MONDAY = Date.UTC(1970, 0, 5);

function floor(time: number, interval: UsageInterval): number {
  if (interval === "hour") return Math.floor(time / HOUR) * HOUR;
  if (interval === "day") return Math.floor(time / DAY) * DAY;
  if (interval === "week") return MONDAY + Math.floor((time - MONDAY) / (7 * DAY)) * 7 * DAY;
  const date = new Date(time);
  return startOfMonth(date.getUTCFullYear(), date.getUTCMonth());
}

function startOfMonth(year: number, month: number): number {
  // Date.UTC reads years below 100 as those of the 20th century.
  const date = new Date(0);
  date.setUTCFullYear(year, month, 1);
  return date.getTime();
}

function add(start: number, interval: UsageInterval, count: number): number {
  if (interval === "hour") return start + count * HOUR;
  if (interval === "day") return start + count * DAY;
  if (interval === "week") return start + count * 7 * DAY;
  const date = new Date(start);
  return startOfMonth(date.getUTCFullYear(), date.getUTCMonth() + count);
}

function periodFrom(first: number, interval: UsageInterval, count: number): Period {
  const at = (index: number) => new Date(add(first, interval, index)).toISOString();
  return {
    interval,
    starts: Array.from({ length: count }, (_, index) => at(index)),
    from: at(0),
    to: at(count),
  };
}

interface PeriodRequest {
  from?: string | undefined;
  to?: string | undefined;
  interval?: UsageInterval | undefined;
}

const OLDEST = Date.UTC(2000, 0, 1);
const NEWEST = Date.UTC(2200, 0, 1);

/** Throws unless a time is one that intervals can be computed with. */
export function requirePlausible(name: "from" | "to", time: string | undefined) {
  if (time === undefined || (Date.parse(time) >= OLDEST && Date.parse(time) < NEWEST)) return;
  throw invalidField(name, "must be between the years 2000 and 2199");
}

/** Returns the period of a query and the one before it. Throws if the period is empty, too long or too old. */
export function readPeriod(
  { from, to, interval = "day" }: PeriodRequest,
  { now, compares }: { now: string; compares: boolean },
): { current: Period; previous?: Period } {
  requirePlausible("from", from);
  requirePlausible("to", to);
  const asked = Date.parse(to ?? now);
  const lastStart = floor(asked, interval);
  const end = to !== undefined && lastStart === asked ? asked : add(lastStart, interval, 1);
  const first =
    from === undefined ? add(end, interval, -DEFAULT_INTERVALS) : floor(Date.parse(from), interval);
  if (first >= end) throw invalidField("from", "must be before `to`");
  let count = 0;
  while (count <= usageLimits.points && add(first, interval, count) < end) count++;
  if (count > usageLimits.points) {
    const message = `must be at most ${usageLimits.points} intervals before \`to\`; choose a longer \`interval\``;
    throw invalidField("from", message);
  }
  const before = add(first, interval, -count);
  const oldest = compares ? before : first;
  const kept = floor(Date.parse(now), "hour") - usageLimits.hourlyDays * DAY;
  if (interval === "hour" && oldest < kept) {
    const reach = compares ? "The period and the one before it" : "The period";
    throw invalidField(
      "interval",
      `must not be \`hour\`, because hours are kept for ${usageLimits.hourlyDays} days. ${reach} must be newer, or the interval \`day\``,
    );
  }
  const current = periodFrom(first, interval, count);
  return compares ? { current, previous: periodFrom(before, interval, count) } : { current };
}
