import type { Installation } from "@outrider/contract/installation";
import { limits } from "@outrider/contract/limits";
import type { CostQuota } from "@outrider/contract/quota";
import { budgetsOf } from "../../engine/limits/budgets.ts";
import type { RetentionLimit } from "../../engine/operations/retention.ts";
import type { Sql } from "../../store/connection/db.ts";
import { type Handlers, ok, type Services } from "../pipeline/call.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MEGABYTE = 1024 ** 2;
const GIGABYTE = 1024 ** 3;

export const installationHandlers: Pick<Handlers, "getInstallation"> = {
  /** Every open page polls this operation, so it responds from memory where possible. */
  async getInstallation({ sql, services }) {
    const { changed_by: _, ...maintenance } = services.maintenance.current();
    const cost_per_day = await costQuotaOf(sql, services);
    const installation: Installation = {
      maintenance,
      has_free_space: services.admission.hasSpace(),
      limits: { ...limitsOf(services), ...(cost_per_day ? { cost_per_day } : {}) },
      sizes,
      retention: retentionOf(services),
    };
    return ok(installation);
  },
};

async function costQuotaOf(sql: Sql, { quotas }: Services): Promise<CostQuota | undefined> {
  const [budget] = await budgetsOf(sql, {}, quotas);
  if (!budget) return undefined;
  const { limit_usd, used_usd, resets_at } = budget;
  return { limit_usd, used_usd, resets_at };
}

function limitsOf({ policy, quotas, streams, minFreeBytes }: Services): Installation["limits"] {
  const { maxConcurrentRuns } = policy;
  return {
    requests_per_minute: quotas.requestsPerMinute,
    creations_per_minute: quotas.creationsPerMinute,
    failures_per_minute: quotas.failuresPerMinute,
    max_streams_per_key: streams.limits.maxPerCaller,
    ...(maxConcurrentRuns === undefined ? {} : { max_concurrent_runs: maxConcurrentRuns }),
    max_builds_per_user: policy.maxBuildsPerUser,
    turn_timeout_minutes: policy.turnMs / MINUTE,
    max_steps: policy.maxSteps,
    max_attempts: policy.maxAttempts,
    queue_timeout_hours: policy.queueMs / HOUR,
    blocked_timeout_days: policy.blockedMs / DAY,
    lease_seconds: policy.leaseMs / SECOND,
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
  const toLimit = ({ days, bytes }: RetentionLimit) => ({
    ...(days === undefined ? {} : { days }),
    ...(bytes === undefined ? {} : { gigabytes: bytes / GIGABYTE }),
  });
  const { runs, events, artifacts, files, builds } = retention;
  return {
    runs: toLimit(runs),
    events: toLimit(events),
    artifacts: toLimit(artifacts),
    files: toLimit(files),
    builds: toLimit(builds),
  };
}
