import { z } from "zod";

/** The maximum age and total size of each kind of data. An absent value means no limit. */
export interface RetentionSettings {
  runs: { days?: number };
  events: { days?: number; bytes?: number };
  artifacts: { days?: number; bytes?: number };
  files: { days?: number; bytes?: number };
  builds: { days?: number; bytes?: number };
}

const amount = z.coerce
  .number("must be a number above 0, or unset to keep everything")
  .positive("must be a number above 0, or unset to keep everything")
  .max(1_000_000, "is too large")
  .optional();

const kinds = ["runs", "events", "artifacts", "files", "builds"] as const;
const GIGABYTE = 1024 ** 3;

/** Reads `OUTRIDER_KEEP_EVENTS_DAYS`, `OUTRIDER_KEEP_EVENTS_GB` and the equivalents for other kinds of data. */
export function readRetention(read: <T>(variable: string, type: z.ZodType<T>) => T): RetentionSettings {
  const entries = kinds.map((kind) => {
    const days = read(`OUTRIDER_KEEP_${kind.toUpperCase()}_DAYS`, amount);
    const gigabytes = kind === "runs" ? undefined : read(`OUTRIDER_KEEP_${kind.toUpperCase()}_GB`, amount);
    const bytes = gigabytes === undefined ? {} : { bytes: gigabytes * GIGABYTE };
    return [kind, { ...(days === undefined ? {} : { days }), ...bytes }];
  });
  return Object.fromEntries(entries);
}
