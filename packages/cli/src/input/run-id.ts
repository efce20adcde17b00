import type { Outrider } from "@outrider/sdk";
import { exits, UsageError } from "../exit-codes.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";

const UUID_LENGTH = 36;
const MIN_PREFIX_LENGTH = 4;
/** A UUIDv7 starts with its creation time in milliseconds, in 12 hexadecimal digits. */
const TIME_DIGITS = 12;
/** The server that creates an ID and the database that records the creation time can have different clocks. */
const CLOCK_DIFFERENCE_MS = 300_000;
const MAX_CANDIDATES = 10;

export const RUN_ARGUMENT = "run ID, its first characters, or session link";

/** Returns the ID of a run, given the ID, a prefix that identifies the run, or the session link. */
export async function findRunId(client: Outrider, given: string): Promise<string> {
  const id = (/\/runs\/([0-9a-f-]{36})\/?$/i.exec(given)?.[1] ?? given).toLowerCase();
  if (!isPrefix(id) || id.length < MIN_PREFIX_LENGTH)
    throw new UsageError(
      `${JSON.stringify(given)} is not a run ID. Pass an ID, at least ${MIN_PREFIX_LENGTH} of its first characters, or a session link.`,
    );
  if (id.length === UUID_LENGTH) return id;
  const candidates: { run_id: string; state: string; title: string }[] = [];
  for await (const run of client.runs.list({ ...creationTimes(id), limit: 500 })) {
    if (run.run_id.startsWith(id)) candidates.push(run);
    if (candidates.length > MAX_CANDIDATES) break;
  }
  const [first] = candidates;
  if (!first)
    throw new UsageError(`No run has an ID that starts with ${id}. List runs with \`outrider runs list\`.`, {
      exit: exits.notFound,
      code: "resource_not_found",
    });
  if (candidates.length === 1) return first.run_id;
  const lines = candidates
    .slice(0, MAX_CANDIDATES)
    .map(({ run_id, state, title }) => `  ${sanitizeLine(run_id)}  ${state}  ${sanitizeLine(title)}`);
  const rest = candidates.length > MAX_CANDIDATES ? ["  …"] : [];
  throw new UsageError(
    [`More than one run ID starts with ${id}. Use one of:`, ...lines, ...rest].join("\n"),
    {
      code: "ambiguous_id",
    },
  );
}

/** Returns whether a text can be the beginning of a UUID. */
function isPrefix(text: string): boolean {
  const rest = "00000000-0000-0000-0000-000000000000".slice(text.length);
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text + rest);
}

/** Returns a filter for the times at which a run whose ID starts with these digits can have been created. */
function creationTimes(prefix: string): { created_after: string; created_before: string } {
  const digits = prefix.replaceAll("-", "").slice(0, TIME_DIGITS);
  const first = Number.parseInt(digits.padEnd(TIME_DIGITS, "0"), 16);
  const last = Number.parseInt(digits.padEnd(TIME_DIGITS, "f"), 16);
  return {
    created_after: timestamp(first - CLOCK_DIFFERENCE_MS),
    created_before: timestamp(last + CLOCK_DIFFERENCE_MS),
  };
}

/** Formats a time. Some prefixes belong to times that timestamps cannot express. */
function timestamp(ms: number): string {
  return new Date(Math.min(Math.max(0, ms), Date.UTC(10_000, 0) - 1)).toISOString();
}
