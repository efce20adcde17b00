import { UsageError } from "../exit-codes.ts";

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Returns a parser for an option whose value is a date, a timestamp, or a time ago such as `90m` or `1d12h`. */
export function timeParser(flag: string): (text: string) => string {
  return (text) => parseTime(flag, text);
}

/** Returns a parser for an option whose value is a date, a timestamp, or a time from now such as `2h`. */
export function futureTimeParser(flag: string): (text: string) => string {
  return (text) => {
    const time = /^(\d+[smhdw])+$/.test(text) ? new Date(Date.now() + milliseconds(text)) : new Date(text);
    const year = time.getUTCFullYear();
    if (!(year >= 1 && year <= 9999))
      throw new UsageError(
        `${flag} must be a date, a timestamp, or a time from now such as 2h or 3d, not ${JSON.stringify(text)}.`,
      );
    return time.toISOString();
  };
}

export function parseTime(flag: string, text: string, now = Date.now()): string {
  if (/^\d{4}-\d{2}-\d{2}/.test(text)) return text;
  const time = /^(\d+[smhdw])+$/.test(text) ? new Date(now - milliseconds(text)) : undefined;
  if (!time || Number.isNaN(time.getTime()) || time.getUTCFullYear() < 0)
    throw new UsageError(
      `${flag} must be a date, a timestamp, or a time ago such as 30m, 12h or 7d, not ${JSON.stringify(text)}.`,
    );
  return time.toISOString();
}

function milliseconds(text: string): number {
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)([smhdw])/g))
    total += Number(count) * unitMs[unit as keyof typeof unitMs];
  return total;
}
