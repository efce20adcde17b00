import type { ReserveRequest, ReserveResponse, SettleRequest } from "@outrider/contract/worker";
import { findDailyCosts, reserveCost, settleCost } from "../../store/budgets.ts";
import type { Sql } from "../../store/connection/db.ts";
import { ApiError } from "../api-error.ts";
import type { Principal } from "../auth/principal.ts";

/** A daily spending limit and the amount used. Days are in UTC. */
export interface Budget {
  of: "key" | "installation";
  limit_usd: number;
  /** The amount spent plus the amount reserved for model calls in progress. */
  used_usd: number;
  resets_at: string;
}

/** Called for each rejection, to update metrics. */
export type OnRejected = (budget: { of: Budget["of"]; at: "creation" | "call" }) => void;

export interface BudgetLimits {
  maxCostUsdPerDay?: number | undefined;
  onRejected?: OnRejected;
}

/** Returns the budgets that apply to the caller's runs. If there are none, the database is not queried. */
export async function budgetsOf(
  sql: Sql,
  { key }: Pick<Principal, "key">,
  { maxCostUsdPerDay }: BudgetLimits,
): Promise<Budget[]> {
  const keyLimit = key?.limits?.max_cost_usd_per_day;
  const limits = [
    ...(keyLimit === undefined
      ? []
      : [{ of: "key" as const, subject: `key ${key?.key_id}`, limit_usd: keyLimit }]),
    ...(maxCostUsdPerDay === undefined
      ? []
      : [{ of: "installation" as const, subject: "installation", limit_usd: maxCostUsdPerDay }]),
  ];
  if (limits.length === 0) return [];
  const subjects = limits.map(({ subject }) => subject);
  const { costs, resets_at } = await findDailyCosts(sql, subjects);
  return limits.map(({ of, subject, limit_usd }) => {
    const used_usd = costs.find((cost) => cost.subject === subject)?.usd ?? 0;
    return { of, limit_usd, used_usd, resets_at };
  });
}

/** Throws if a budget is used up, because the run would be unable to make a single model call. */
export async function requireBudget(sql: Sql, principal: Principal, limits: BudgetLimits): Promise<void> {
  const spent = (await budgetsOf(sql, principal, limits)).find(
    ({ used_usd, limit_usd }) => used_usd >= limit_usd,
  );
  if (!spent) return;
  limits.onRejected?.({ of: spent.of, at: "creation" });
  const { limit_usd, resets_at } = spent;
  const whose = spent.of === "key" ? "The key" : "The installation";
  throw new ApiError(
    "budget_exceeded",
    `${whose} has used its daily budget of ${dollars(limit_usd)}. The budget resets at ${resets_at}.`,
  );
}

/** Reserves the maximum cost of the next model call. Rejects executions that no longer hold the run's lease. */
export async function reserve(
  sql: Sql,
  executionId: string,
  { run_id, reservation_id, cost_usd, usd }: ReserveRequest,
  { maxCostUsdPerDay, onRejected }: BudgetLimits,
): Promise<ReserveResponse> {
  const reserved = await reserveCost(sql, {
    runId: run_id,
    executionId,
    reservationId: reservation_id,
    cost: cost_usd,
    usd,
    maxTotal: maxCostUsdPerDay,
  });
  if (!reserved)
    throw new ApiError("conflict", "The lease is lost: the run no longer belongs to this execution.");
  const { is_limited, refused_by, limit_usd, used_usd } = reserved;
  if (refused_by === null) return { is_limited };
  const of = refused_by === "installation" ? "installation" : "key";
  onRejected?.({ of, at: "call" });
  const whose = of === "key" ? "The run's key" : "The installation";
  const refusal = `${whose} has a daily budget of ${dollars(limit_usd as number)}. ${dollars(used_usd as number)} has been spent or reserved, and the next model call may cost ${dollars(usd)}. The run's results so far are saved. The budget resets at 00:00 UTC.`;
  return { is_limited, refusal };
}

/** Replaces a reservation with the actual cost. */
export async function settle(sql: Sql, { run_id, reservation_id, cost_usd }: SettleRequest): Promise<void> {
  await settleCost(sql, { runId: run_id, reservationId: reservation_id, cost: cost_usd });
}

/** Formats an amount in dollars and rounds up to whole cents, so that a small amount is never shown as $0.00. */
function dollars(usd: number): string {
  return `$${(Math.ceil(Number((usd * 100).toFixed(6))) / 100).toFixed(2)}`;
}
