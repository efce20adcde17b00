import {
  type GetUsageLoadQuery,
  type GetUsageQuery,
  type UsageLoadResponse,
  type UsageResponse,
  usageLimits,
} from "@outrider/contract/usage";
import { readClock, type Sql } from "../../store/connection/db.ts";
import { listLoad } from "../../store/usage/load.ts";
import {
  findUsageStatus,
  INSTALLATION,
  type RollupDimension,
  type RollupSelection,
  sumRollups,
} from "../../store/usage/rollups.ts";
import { invalidField } from "../api-error.ts";
import { requireEnvironmentField, usableEnvironments } from "../auth/environment-access.ts";
import { type Principal, requireUser } from "../auth/principal.ts";
import { listGroups } from "./groups.ts";
import { type Period, readPeriod, requirePlausible } from "./period.ts";
import { pointsOf, totalsOf } from "./totals.ts";

/*
 * Usage over time, computed from rollups (store/functions/outrider_fold_usage.sql), never from runs. Rollups exist for the
 * installation and for each environment, so that keys which are limited to environments get theirs. They do not exist
 * for each cloud agent, so agent keys are refused.
 */

export async function getUsage(
  sql: Sql,
  { principal, query, gitHost }: { principal: Principal; query: GetUsageQuery; gitHost: string },
): Promise<UsageResponse> {
  requireUser(principal);
  const environments = await visibleEnvironments(sql, principal, query.environment_id);
  const { now, as_of, is_complete } = await findUsageStatus(sql);
  const { current, previous } = readPeriod(query, { now, compares: query.compare === "previous" });
  const select = (dimension: RollupDimension, { interval, from, to }: Period): RollupSelection => ({
    dimension,
    granularity: interval === "hour" ? "hour" : "day",
    from,
    to,
    // The rollups by environment exist for the installation only.
    ...(dimension === "environment"
      ? { environmentIds: [INSTALLATION], onlyKeys: environments }
      : { environmentIds: environments ?? [INSTALLATION] }),
  });
  const sumTotals = (period: Period) =>
    sumRollups(sql, select("total", period), { interval: period.interval, withHistograms: true });
  const rows = await sumTotals(current);
  const previousRows = previous ? await sumTotals(previous) : [];
  const { group_by } = query;
  const groups = group_by
    ? await listGroups(sql, {
        dimension: group_by,
        select: (period) => select(group_by === "repository" ? "environment" : group_by, period),
        current,
        previous,
        gitHost,
      })
    : undefined;
  return {
    from: current.from,
    to: current.to,
    interval: current.interval,
    totals: totalsOf(rows),
    ...(previous ? { previous: totalsOf(previousRows) } : {}),
    points: pointsOf(current, rows),
    ...(previous ? { previous_points: pointsOf(previous, previousRows) } : {}),
    ...(groups ? { groups } : {}),
    as_of,
    is_complete,
  };
}

/** Returns the only environments whose runs count, or undefined if all runs count. */
async function visibleEnvironments(sql: Sql, principal: Principal, environmentId: string | undefined) {
  if (environmentId === undefined) return usableEnvironments(principal);
  await requireEnvironmentField(sql, principal, { pointer: "environment_id", environmentId });
  return [environmentId];
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** How long the load is kept, and therefore the longest period. */
const MAX_LOAD_DAYS = 400;

export async function getUsageLoad(sql: Sql, query: GetUsageLoadQuery): Promise<UsageLoadResponse> {
  requirePlausible("from", query.from);
  requirePlausible("to", query.to);
  const to = query.to ?? (await readClock(sql));
  const from = query.from ?? new Date(Date.parse(to) - DAY).toISOString();
  const days = (Date.parse(to) - Date.parse(from)) / DAY;
  if (days <= 0) throw invalidField("from", "must be before `to`");
  const maxDays = query.worker_id ? usageLimits.workerLoadDays : MAX_LOAD_DAYS;
  if (days > maxDays) throw invalidField("from", `must be at most ${maxDays} days before \`to\``);
  const { storedSeconds, pointSeconds } = query.worker_id
    ? { storedSeconds: 900, pointSeconds: 900 }
    : days <= 2
      ? { storedSeconds: 300, pointSeconds: 300 }
      : { storedSeconds: 3_600, pointSeconds: days <= 31 ? 3_600 : 86_400 };
  // The first point contains `from`.
  const first = new Date(Math.floor(Date.parse(from) / (pointSeconds * 1_000)) * pointSeconds * 1_000);
  const selection = { from: first.toISOString(), to, storedSeconds, pointSeconds };
  const points = await listLoad(sql, { ...selection, workerId: query.worker_id });
  return { from: selection.from, to, interval_seconds: pointSeconds, points };
}
