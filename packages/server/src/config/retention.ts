import { z } from "zod";

/** As the engine takes it. */
export interface RetentionSettings {
  runs: { days?: number };
  events: { days?: number; bytes?: number };
  artifacts: { days?: number; bytes?: number };
  files: { days?: number; bytes?: number };
  builds: { days?: number; bytes?: number };
}

const amount = z.coerce
  .number("must be a number above 0, or not set to keep everything")
  .positive("must be a number above 0, or not set to keep everything")
  .max(1_000_000, "is too large")
  .optional();

const kinds = ["runs", "events", "artifacts", "files", "builds"] as const;
const GIGABYTE = 1024 ** 3;

/** How long and how much the installation keeps of each kind: `OUTRIDER_KEEP_EVENTS_DAYS`, `OUTRIDER_KEEP_EVENTS_GB`. */
export function readRetention(read: <T>(variable: string, type: z.ZodType<T>) => T): RetentionSettings {
  const bounds = kinds.map((kind) => {
    const days = read(`OUTRIDER_KEEP_${kind.toUpperCase()}_DAYS`, amount);
    const gigabytes = kind === "runs" ? undefined : read(`OUTRIDER_KEEP_${kind.toUpperCase()}_GB`, amount);
    const bytes = gigabytes === undefined ? {} : { bytes: gigabytes * GIGABYTE };
    return [kind, { ...(days === undefined ? {} : { days }), ...bytes }];
  });
  return Object.fromEntries(bounds);
}
