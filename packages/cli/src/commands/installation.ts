import type { Installation } from "@outrider/sdk";
import { clientCommand, withClient } from "../client-command.ts";

const MIB = 1024 ** 2;
const KIB = 1024;

export const installationCommand = clientCommand(
  "installation",
  "Say which limits and retention hold here, and what is stopped.",
).action(
  withClient(async ({ client, out }) => {
    const installation = await client.installation.get();
    const { brake, limits, sizes, retention } = installation;
    const { cost_per_day: cost } = limits;
    out.item({
      document: installation,
      id: isOpen(installation) ? "open" : "closed",
      members: [
        ["takes new runs", isOpen(installation) ? "yes" : "no"],
        ["works on queued runs", brake.mode === "normal" && brake.queue === "open" ? "yes" : "no"],
        ["takes changes", brake.mode === "normal" ? "yes" : "no"],
        ["room on its disks", installation.has_room ? "enough" : `less than ${limits.min_free_mb} MB`],
        ["message", brake.message],
        ["requests", `${limits.requests_per_minute} a minute`],
        ["creations", `${limits.creations_per_minute} a minute`],
        ["failures", `${limits.failures_per_minute} a minute, of an address`],
        ["streams at once", `${limits.max_streams_per_key} of a key`],
        ["runs at once", String(limits.max_concurrent_runs ?? "as many as workers have slots")],
        ["dollars a day", cost ? `${cost.limit_usd}, ${cost.used_usd} of them used today` : "no limit"],
        ["turn", `${limits.turn_timeout_minutes} minutes, ${limits.max_steps} steps`],
        ["lost workers", `${limits.max_attempts} attempts, after ${limits.lease_seconds} s of silence`],
        ["waits for a worker", `at most ${limits.queue_timeout_hours} hours`],
        ["waits for an answer", `at most ${limits.blocked_timeout_days} days`],
        [
          "body",
          `${sizes.body_bytes / MIB} MiB, with attachments ${sizes.body_with_attachments_bytes / MIB} MiB`,
        ],
        ["prompt", `${sizes.prompt_bytes / KIB} KiB`],
        ...kinds.map((kind): [string, string] => [`keeps ${kind}`, keptWords(retention[kind])]),
      ],
    });
  }),
);

const kinds = ["runs", "events", "artifacts", "files", "builds"] as const;

function isOpen({ brake, has_room }: Installation): boolean {
  return has_room && brake.mode === "normal" && brake.intake === "open";
}

function keptWords({ days, gigabytes }: Installation["retention"]["events"]): string {
  const bounds = [
    days !== undefined && `${days} days`,
    gigabytes !== undefined && `at most ${gigabytes} GB`,
  ].filter(Boolean);
  return bounds.join(", ") || "for ever";
}
