import type { Installation } from "@outrider/sdk";
import { dollars, bytes as exactBytes } from "../../ui/amount.ts";

export interface Bound {
  what: string;
  value: string;
  /** Where it stands at the moment. */
  note?: string;
  /** What sets it; nothing where it is the same everywhere. */
  variables: string[];
}

interface Group {
  title: string;
  bounds: Bound[];
}

const number = new Intl.NumberFormat();
const amount = (value: number, one: string, many = `${one}s`) =>
  `${number.format(value)} ${value === 1 ? one : many}`;

/** Limits are round numbers, which need no digits behind the point. */
const bytes = (value: number) => exactBytes(value).replace(".0 ", " ");

export function groupsOf({ limits, sizes, retention }: Installation): Group[] {
  return [
    { title: "Runs", bounds: ofRuns(limits) },
    { title: "Requests", bounds: ofRequests(limits, sizes) },
    { title: "Kept of runs that have ended", bounds: ofRetention(retention) },
    { title: "Sign-in", bounds: ofSignIn },
  ];
}

function ofRuns(limits: Installation["limits"]): Bound[] {
  const { cost_per_day: cost, max_concurrent_runs: atOnce } = limits;
  return [
    bound("Time for a turn", amount(limits.turn_timeout_minutes, "minute"), "TURN_TIMEOUT_MINUTES"),
    bound("Model calls in a turn", number.format(limits.max_steps), "MAX_STEPS"),
    bound("Tries when a worker is lost", number.format(limits.max_attempts), "MAX_ATTEMPTS"),
    bound("A worker counts as lost after", amount(limits.lease_seconds, "second"), "LEASE_SECONDS"),
    bound("Waiting for a worker", amount(limits.queue_timeout_hours, "hour"), "QUEUE_TIMEOUT_HOURS"),
    bound("Waiting for an answer", amount(limits.blocked_timeout_days, "day"), "BLOCKED_TIMEOUT_DAYS"),
    bound(
      "At work at once, in all",
      atOnce === undefined ? "as many as the workers have slots" : number.format(atOnce),
      "MAX_CONCURRENT_RUNS",
    ),
    {
      ...bound("Dollars a day, in all", cost ? dollars(cost.limit_usd) : "no limit", "MAX_COST_USD_PER_DAY"),
      ...(cost && {
        note: `${dollars(cost.used_usd)} used today; a day begins at 00:00 UTC`,
      }),
    },
    bound("Room on a disk for new runs", `at least ${number.format(limits.min_free_mb)} MB`, "MIN_FREE_MB"),
  ];
}

function ofRequests(limits: Installation["limits"], sizes: Installation["sizes"]): Bound[] {
  const rate = (value: number) => `${number.format(value)} a minute`;
  return [
    bound("Requests of a key or a person", rate(limits.requests_per_minute), "REQUESTS_PER_MINUTE"),
    bound("Runs that one of them creates", rate(limits.creations_per_minute), "CREATIONS_PER_MINUTE"),
    bound("Of an address without a good key", rate(limits.failures_per_minute), "FAILURES_PER_MINUTE"),
    bound("Streams of one of them at once", number.format(limits.max_streams_per_key), "MAX_STREAMS_PER_KEY"),
    bound(
      "Body of a request",
      `${bytes(sizes.body_bytes)}, with attachments ${bytes(sizes.body_with_attachments_bytes)}`,
    ),
    bound("Prompt or message", bytes(sizes.prompt_bytes)),
    bound("Attachments of one", `${sizes.attachments} files, ${bytes(sizes.attachments_bytes)} in all`),
    bound("Output schema", bytes(sizes.output_schema_bytes)),
    bound("Secret", bytes(sizes.secret_bytes)),
  ];
}

function ofRetention({ runs, events, artifacts, files, builds }: Installation["retention"]): Bound[] {
  return [
    bound("Runs, with all that is theirs", keptWords(runs), "KEEP_RUNS_DAYS"),
    bound("Transcripts", keptWords(events), "KEEP_EVENTS_DAYS", "KEEP_EVENTS_GB"),
    bound("Artifacts and diffs", keptWords(artifacts), "KEEP_ARTIFACTS_DAYS", "KEEP_ARTIFACTS_GB"),
    bound("Files of workspaces", keptWords(files), "KEEP_FILES_DAYS", "KEEP_FILES_GB"),
    bound("Builds that no run needs", keptWords(builds), "KEEP_BUILDS_DAYS", "KEEP_BUILDS_GB"),
  ];
}

const ofSignIn: Bound[] = [
  bound("Tries of a password", "10 in 15 minutes for an account"),
  bound("One-time link", "24 hours, an invitation 7 days"),
  bound("Browser that is not used", "14 days, at most 90 in all"),
];

function bound(what: string, value: string, ...variables: string[]): Bound {
  return { what, value, variables: variables.map((name) => `OUTRIDER_${name}`) };
}

function keptWords({ days, gigabytes }: Installation["retention"]["events"]): string {
  const bounds = [
    days !== undefined && amount(days, "day"),
    gigabytes !== undefined && `at most ${number.format(gigabytes)} GB`,
  ].filter(Boolean);
  return bounds.join(", ") || "for ever";
}
