import type { Installation } from "@outrider/sdk";
import { clientCommand, withClient } from "../client-command.ts";

const MIB = 1024 ** 2;
const KIB = 1024;

export const installationCommand = clientCommand(
  "installation",
  "Show limits, retention and maintenance status.",
).action(
  withClient(async ({ client, out }) => {
    const installation = await client.installation.get();
    const { maintenance, limits, sizes, retention } = installation;
    const { cost_per_day: cost } = limits;
    out.item({
      document: installation,
      id: acceptsRuns(installation) ? "open" : "closed",
      fields: [
        ["accepts new runs", acceptsRuns(installation) ? "yes" : "no"],
        ["starts queued runs", maintenance.mode === "normal" && maintenance.queue === "open" ? "yes" : "no"],
        ["accepts writes", maintenance.mode === "normal" ? "yes" : "no"],
        [
          "free disk space",
          installation.has_free_space ? "sufficient" : `less than ${limits.min_free_mb} MB`,
        ],
        ["message", maintenance.message],
        ["requests", `${limits.requests_per_minute} per minute`],
        ["run creations", `${limits.creations_per_minute} per minute`],
        ["failed sign-ins", `${limits.failures_per_minute} per minute and network address`],
        ["streams", `${limits.max_streams_per_key} per key`],
        ["concurrent runs", String(limits.max_concurrent_runs ?? "limited only by worker slots")],
        ["requested builds", `${limits.max_builds_per_user} unfinished per user`],
        ["daily spending", cost ? `$${cost.limit_usd}, $${cost.used_usd} used today` : "no limit"],
        ["turn limits", `${limits.turn_timeout_minutes} minutes, ${limits.max_steps} steps`],
        [
          "attempts",
          `${limits.max_attempts}; a worker is lost after ${limits.lease_seconds} s without a heartbeat`,
        ],
        ["queue timeout", `${limits.queue_timeout_hours} hours`],
        ["answer timeout", `${limits.blocked_timeout_days} days`],
        [
          "request body",
          `${sizes.body_bytes / MIB} MiB, or ${sizes.body_with_attachments_bytes / MIB} MiB with attachments`,
        ],
        ["prompt", `${sizes.prompt_bytes / KIB} KiB`],
        ...kinds.map((kind): [string, string] => [`${kind} retention`, retentionText(retention[kind])]),
      ],
    });
  }),
);

const kinds = ["runs", "events", "artifacts", "files", "builds"] as const;

function acceptsRuns({ maintenance, has_free_space }: Installation): boolean {
  return has_free_space && maintenance.mode === "normal" && maintenance.admission === "open";
}

function retentionText({ days, gigabytes }: Installation["retention"]["events"]): string {
  const bounds = [
    days !== undefined && `${days} days`,
    gigabytes !== undefined && `at most ${gigabytes} GB`,
  ].filter(Boolean);
  return bounds.join(", ") || "unlimited";
}
