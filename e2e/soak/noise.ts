import type { Span } from "./level.ts";

const WARN = 40;
/** While the database is away, so many complaints a second tell the operator all there is to tell. */
const COMPLAINTS_A_SECOND = 10;

interface Complaint {
  at: number;
  message: string;
}

export interface Complaints {
  complaints: Complaint[];
  /** What is no line of a log at all. */
  foreign: string[];
}

/** What a process said with warning or worse. */
export function complaintsIn(log: string): Complaints {
  const complaints: Complaint[] = [];
  const foreign: string[] = [];
  for (const text of log.split("\n").filter((line) => line.trim() !== "")) {
    const line = parse(text);
    if (!line) foreign.push(text);
    else if (line.level >= WARN) complaints.push({ at: Date.parse(line.time), message: line.msg });
  }
  return { complaints, foreign };
}

function parse(text: string): { level: number; time: string; msg: string } | undefined {
  try {
    const line = JSON.parse(text);
    return typeof line?.level === "number" ? line : undefined;
  } catch {
    return undefined;
  }
}

/** Nobody complains while all is well, and while it is not, nobody fills a disk with it. */
export function noiseIn(name: string, { complaints, foreign }: Complaints, outages: Span[]): string[] {
  const isDuring = (at: number) => outages.some(({ from, to }) => at >= from && at < to);
  const unprovoked = complaints.filter(({ at }) => !isDuring(at));
  const provoked = complaints.length - unprovoked.length;
  const seconds = outages.reduce((sum, { from, to }) => sum + (to - from) / 1_000, 0);
  return [
    ...[...Map.groupBy(unprovoked, ({ message }) => message)].map(
      ([message, { length }]) =>
        `${name} complained ${length === 1 ? "once" : `${length} times`} while all was well: ${message}`,
    ),
    ...(provoked > seconds * COMPLAINTS_A_SECOND
      ? [`${name} complained ${provoked} times in ${seconds.toFixed()} s without a database.`]
      : []),
    ...foreign
      .filter((text) => /^\s+at |Error/.test(text))
      .slice(0, 3)
      .map((text) => `${name} said outside of its log: ${text}`),
  ];
}
