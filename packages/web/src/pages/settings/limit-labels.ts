import { limits as fixed } from "@outrider/contract/limits";
import type { Installation } from "@outrider/sdk";
import { formatBytes as exactBytes, formatDollars } from "../../ui/format/numbers.ts";

export interface LimitLabel {
  what: string;
  value: string;
  /** Describes the current usage. */
  note?: string;
  /** The environment variables that set the limit. Empty for fixed limits. */
  variables: string[];
}

interface Group {
  title: string;
  limits: LimitLabel[];
}

const number = new Intl.NumberFormat();
const amount = (value: number, one: string, many = `${one}s`) =>
  `${number.format(value)} ${value === 1 ? one : many}`;

/** Limits are round numbers, so a trailing ".0" is dropped. */
const bytes = (value: number) => exactBytes(value).replace(".0 ", " ");

export function limitGroups({ limits, sizes, retention }: Installation): Group[] {
  return [
    { title: "Runs", limits: runLimits(limits) },
    { title: "Requests", limits: requestLimits(limits, sizes) },
    { title: "Retention of finished runs", limits: retentionLimits(retention) },
    { title: "Sign-in", limits: signInLimits },
  ];
}

function runLimits(limits: Installation["limits"]): LimitLabel[] {
  const { cost_per_day: cost, max_concurrent_runs: concurrent } = limits;
  return [
    limit("Turn timeout", amount(limits.turn_timeout_minutes, "minute"), "TURN_TIMEOUT_MINUTES"),
    limit("Model calls per turn", number.format(limits.max_steps), "MAX_STEPS"),
    limit("Attempts if a worker is lost", number.format(limits.max_attempts), "MAX_ATTEMPTS"),
    limit("Worker lease", amount(limits.lease_seconds, "second"), "LEASE_SECONDS"),
    limit("Queue timeout", amount(limits.queue_timeout_hours, "hour"), "QUEUE_TIMEOUT_HOURS"),
    limit("Answer timeout", amount(limits.blocked_timeout_days, "day"), "BLOCKED_TIMEOUT_DAYS"),
    limit(
      "Concurrent runs",
      concurrent === undefined ? "limited by worker slots" : number.format(concurrent),
      "MAX_CONCURRENT_RUNS",
    ),
    limit(
      "Unfinished builds that a user may request",
      number.format(limits.max_builds_per_user),
      "MAX_BUILDS_PER_USER",
    ),
    {
      ...limit(
        "Daily budget (USD)",
        cost ? formatDollars(cost.limit_usd) : "no limit",
        "MAX_COST_USD_PER_DAY",
      ),
      ...(cost && {
        note: `${formatDollars(cost.used_usd)} used today (resets at 00:00 UTC)`,
      }),
    },
    limit("Free disk space for new runs", `at least ${number.format(limits.min_free_mb)} MB`, "MIN_FREE_MB"),
  ];
}

function requestLimits(limits: Installation["limits"], sizes: Installation["sizes"]): LimitLabel[] {
  const rate = (value: number) => `${number.format(value)} per minute`;
  return [
    limit("Requests per key or user", rate(limits.requests_per_minute), "REQUESTS_PER_MINUTE"),
    limit("New runs per key or user", rate(limits.creations_per_minute), "CREATIONS_PER_MINUTE"),
    limit("Failed authentications per IP address", rate(limits.failures_per_minute), "FAILURES_PER_MINUTE"),
    limit(
      "Concurrent streams per key or user",
      number.format(limits.max_streams_per_key),
      "MAX_STREAMS_PER_KEY",
    ),
    limit(
      "Request body",
      `${bytes(sizes.body_bytes)}, or ${bytes(sizes.body_with_attachments_bytes)} with attachments`,
    ),
    limit("Prompt or message", bytes(sizes.prompt_bytes)),
    limit(
      "Attachments per message",
      `${sizes.attachments} files, ${bytes(sizes.attachments_bytes)} in total`,
    ),
    limit("Output schema", bytes(sizes.output_schema_bytes)),
    limit("Secret", bytes(sizes.secret_bytes)),
  ];
}

function retentionLimits({
  runs,
  events,
  artifacts,
  files,
  builds,
}: Installation["retention"]): LimitLabel[] {
  return [
    limit("Runs and all their data", formatRetention(runs), "KEEP_RUNS_DAYS"),
    limit("Transcripts", formatRetention(events), "KEEP_EVENTS_DAYS", "KEEP_EVENTS_GB"),
    limit("Artifacts and diffs", formatRetention(artifacts), "KEEP_ARTIFACTS_DAYS", "KEEP_ARTIFACTS_GB"),
    limit("Workspace files", formatRetention(files), "KEEP_FILES_DAYS", "KEEP_FILES_GB"),
    limit("Unused builds", formatRetention(builds), "KEEP_BUILDS_DAYS", "KEEP_BUILDS_GB"),
  ];
}

const signInLimits: LimitLabel[] = [
  limit(
    "Password attempts per account",
    `${fixed.signIn.attempts.account} per ${fixed.signIn.attempts.windowMinutes} minutes`,
  ),
  limit(
    "One-time link",
    `${fixed.signIn.linkHours} hours; invitations ${fixed.signIn.invitationHours / 24} days`,
  ),
  limit(
    "Session",
    `${fixed.signIn.idleDays} days of inactivity, at most ${fixed.signIn.maxDays} days in total`,
  ),
];

function limit(what: string, value: string, ...variables: string[]): LimitLabel {
  return { what, value, variables: variables.map((name) => `OUTRIDER_${name}`) };
}

function formatRetention({ days, gigabytes }: Installation["retention"]["events"]): string {
  const parts = [
    days !== undefined && amount(days, "day"),
    gigabytes !== undefined && `at most ${number.format(gigabytes)} GB`,
  ].filter(Boolean);
  return parts.join(", ") || "forever";
}
