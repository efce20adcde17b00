import type { Span } from "./growth.ts";

const WARN = 40;
/** The most warnings that a process may log per second while the database is unavailable. */
const MAX_WARNINGS_PER_SECOND = 10;

interface Warning {
  at: number;
  message: string;
}

export interface ParsedLog {
  warnings: Warning[];
  /** Lines that are not JSON log lines. */
  unstructured: string[];
}

/** Returns the lines with level warning or above, and the lines that are not JSON. */
export function parseLog(log: string): ParsedLog {
  const warnings: Warning[] = [];
  const unstructured: string[] = [];
  for (const text of log.split("\n").filter((line) => line.trim() !== "")) {
    const line = parse(text);
    if (!line) unstructured.push(text);
    else if (line.level >= WARN) warnings.push({ at: Date.parse(line.time), message: line.msg });
  }
  return { warnings, unstructured };
}

function parse(text: string): { level: number; time: string; msg: string } | undefined {
  try {
    const line = JSON.parse(text);
    return typeof line?.level === "number" ? line : undefined;
  } catch {
    return undefined;
  }
}

/** Processes log no warnings outside of outages, and a bounded number during outages. */
export function findUnexpectedWarnings(
  name: string,
  { warnings, unstructured }: ParsedLog,
  outages: Span[],
): string[] {
  const isDuring = (at: number) => outages.some(({ from, to }) => at >= from && at < to);
  const unexpected = warnings.filter(({ at }) => !isDuring(at));
  const expected = warnings.length - unexpected.length;
  const seconds = outages.reduce((sum, { from, to }) => sum + (to - from) / 1_000, 0);
  return [
    ...[...Map.groupBy(unexpected, ({ message }) => message)].map(
      ([message, { length }]) =>
        `${name} logged a warning ${length === 1 ? "once" : `${length} times`} outside of an outage: ${message}`,
    ),
    ...(expected > seconds * MAX_WARNINGS_PER_SECOND
      ? [`${name} logged ${expected} warnings in ${seconds.toFixed()} s without a database.`]
      : []),
    ...unstructured
      .filter((text) => /^\s+at |Error/.test(text))
      .slice(0, 3)
      .map((text) => `${name} printed an unstructured line: ${text}`),
  ];
}
