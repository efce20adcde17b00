import type { Installation } from "@outrider/contract/installation";
import { limits } from "@outrider/contract/limits";
import type { CostQuota } from "@outrider/contract/quota";
import { budgetsOf } from "../../engine/budgets.ts";
import type { Bound } from "../../engine/retention.ts";
import type { Sql } from "../../store/db.ts";
import { type Handlers, ok, type Services } from "../call.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MEGABYTE = 1024 ** 2;
const GIGABYTE = 1024 ** 3;

export const installationHandlers: Pick<Handlers, "getInstallation"> = {
  /** Every open page asks this again and again, so what stands in memory is not asked of the database. */
  async getInstallation({ sql, services }) {
    const { changed_by: _, ...brake } = services.brake.current();
    const cost_per_day = await costOf(sql, services);
    const answer: Installation = {
      brake,
      has_room: services.intake.hasRoom(),
      limits: { ...limitsOf(services), ...(cost_per_day ? { cost_per_day } : {}) },
      sizes,
      retention: retentionOf(services),
    };
    return ok(answer);
  },
};

async function costOf(sql: Sql, { quotas }: Services): Promise<CostQuota | undefined> {
  const [budget] = await budgetsOf(sql, {}, quotas);
  if (!budget) return undefined;
  const { limit_usd, used_usd, resets_at } = budget;
  return { limit_usd, used_usd, resets_at };
}

function limitsOf({ rules, quotas, streams, minFreeBytes }: Services): Installation["limits"] {
  const { maxConcurrentRuns } = rules;
  return {
    requests_per_minute: quotas.requestsPerMinute,
    creations_per_minute: quotas.creationsPerMinute,
    failures_per_minute: quotas.failuresPerMinute,
    max_streams_per_key: streams.bounds.mostEach,
    ...(maxConcurrentRuns === undefined ? {} : { max_concurrent_runs: maxConcurrentRuns }),
    turn_timeout_minutes: rules.turnMs / MINUTE,
    max_steps: rules.maxSteps,
    max_attempts: rules.maxAttempts,
    queue_timeout_hours: rules.queueMs / HOUR,
    blocked_timeout_days: rules.blockedMs / DAY,
    lease_seconds: rules.leaseMs / SECOND,
    min_free_mb: minFreeBytes / MEGABYTE,
  };
}

const sizes: Installation["sizes"] = {
  body_bytes: limits.body,
  body_with_attachments_bytes: limits.bodyWithAttachments,
  prompt_bytes: limits.prompt,
  attachments: limits.attachments.count,
  attachments_bytes: limits.attachments.total,
  output_schema_bytes: limits.outputSchema,
  secret_bytes: limits.secret.max,
};

function retentionOf({ retention }: Services): Installation["retention"] {
  const bound = ({ days, bytes }: Bound) => ({
    ...(days === undefined ? {} : { days }),
    ...(bytes === undefined ? {} : { gigabytes: bytes / GIGABYTE }),
  });
  const { runs, events, artifacts, files, builds } = retention;
  return {
    runs: bound(runs),
    events: bound(events),
    artifacts: bound(artifacts),
    files: bound(files),
    builds: bound(builds),
  };
}
