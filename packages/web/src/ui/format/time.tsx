import { useNow } from "./clock.ts";

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ["minute", 60],
  ["hour", 3_600],
  ["day", 86_400],
];

/** Shows a relative time. The tooltip shows the exact time in the user's time zone. */
export function Time({ at, className }: { at: string; className?: string }) {
  const now = useNow();
  const date = new Date(at);
  return (
    <time dateTime={at} title={exact.format(date)} className={className}>
      {ago(date, now)}
    </time>
  );
}

function ago(date: Date, now: number): string {
  const seconds = Math.round((date.getTime() - now) / 1_000);
  const distance = Math.abs(seconds);
  if (distance < 45) return "just now";
  if (distance > 30 * 86_400) return day.format(date);
  const [unit, size] = steps.findLast(([, size]) => distance >= size * 0.75) ?? ["minute", 60];
  return relative.format(Math.round(seconds / size), unit);
}

export function exactTime(at: string): string {
  return exact.format(new Date(at));
}

export function clockTime(at: number): string {
  return clock.format(at);
}

/** Shows a duration, which counts up if it has no end. */
export function Duration({ from, to }: { from: string; to?: string | undefined }) {
  const now = useNow(to === undefined);
  const ms = (to === undefined ? now : Date.parse(to)) - Date.parse(from);
  return <span className="tabular-nums">{formatDuration(Math.max(0, ms))}</span>;
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
