import type { UsageInterval } from "@outrider/sdk";
import type { ChartPoint } from "../../ui/charts/series.ts";
import type { InsightsSearch, Range } from "./search.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface Period {
  from: string;
  to: string;
  interval: UsageInterval;
}

const presets: Record<Range, { days: number; interval: UsageInterval }> = {
  "24h": { days: 1, interval: "hour" },
  "7d": { days: 7, interval: "day" },
  "30d": { days: 30, interval: "day" },
  "90d": { days: 90, interval: "day" },
  "12m": { days: 364, interval: "week" },
};

/** Returns the time range that the search parameters select. All ranges end on the boundary of an interval. */
export function periodOf({ range = "30d", from, to }: InsightsSearch, now: number): Period {
  if (from && to) {
    const start = Date.parse(from);
    const end = Date.parse(to) + DAY_MS;
    const days = (end - start) / DAY_MS;
    // Hours are kept for two weeks only.
    const isRecent = now - start < 13 * DAY_MS;
    const interval = days <= 2 && isRecent ? "hour" : days <= 120 ? "day" : days <= 1_000 ? "week" : "month";
    return { from: new Date(start).toISOString(), to: new Date(end).toISOString(), interval };
  }
  const { days, interval } = presets[range];
  const step = interval === "hour" ? HOUR_MS : DAY_MS;
  const end = Math.ceil(now / step) * step;
  return { from: new Date(end - days * DAY_MS).toISOString(), to: new Date(end).toISOString(), interval };
}

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, options);
const utc = { timeZone: "UTC" } as const;
/** Hours are shown in the user's time zone. Days, weeks and months are those of UTC, because they are counted so. */
const formats: Record<UsageInterval, { label: Intl.DateTimeFormat; title: Intl.DateTimeFormat }> = {
  hour: {
    label: format({ hour: "2-digit", minute: "2-digit" }),
    title: format({ weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }),
  },
  day: {
    label: format({ ...utc, day: "numeric", month: "short" }),
    title: format({ ...utc, weekday: "short", day: "numeric", month: "short", year: "numeric" }),
  },
  week: {
    label: format({ ...utc, day: "numeric", month: "short" }),
    title: format({ ...utc, day: "numeric", month: "short", year: "numeric" }),
  },
  month: {
    label: format({ ...utc, month: "short" }),
    title: format({ ...utc, month: "long", year: "numeric" }),
  },
};

/** Returns a point's labels. */
export function chartPoint(startsAt: string, interval: UsageInterval): ChartPoint {
  const { label, title } = formats[interval];
  const date = new Date(startsAt);
  return {
    label: label.format(date),
    title: interval === "week" ? `Week of ${title.format(date)}` : title.format(date),
  };
}

const minute = format({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** Returns the labels of a point of the load, whose length is in seconds. */
export function loadPoint(startsAt: string, seconds: number): ChartPoint {
  if (seconds >= 86_400) return chartPoint(startsAt, "day");
  const date = new Date(startsAt);
  return {
    label: seconds >= 3_600 ? formats.day.label.format(date) : formats.hour.label.format(date),
    title: minute.format(date),
  };
}

const day = format({ ...utc, day: "numeric", month: "short", year: "numeric" });

/** Describes a period, such as "19 Oct 2026 – 17 Nov 2026". */
export function describePeriod({ from, to }: { from: string; to: string }): string {
  const last = new Date(Date.parse(to) - 1);
  return Date.parse(to) - Date.parse(from) <= DAY_MS
    ? "Last 24 hours"
    : day.formatRange(new Date(from), last);
}
