import type { ReserveRequest, ReserveResponse, SettleRequest } from "@outrider/contract/worker";
import { findDailyCosts, reserveCost, settleCost } from "../store/budgets.ts";
import type { Sql } from "../store/db.ts";
import type { Principal } from "./principal.ts";
import { Refusal } from "./refusal.ts";

/** One limit of dollars for the UTC day, and what is left of it. */
export interface Budget {
  of: "key" | "installation";
  limit_usd: number;
  /** Spent, and reserved for model calls that are at work. */
  used_usd: number;
  resets_at: string;
}

/** Refused budgets of this server, for its metrics. */
export type Refused = (budget: { of: Budget["of"]; at: "creation" | "call" }) => void;

export interface BudgetRules {
  maxCostUsdPerDay?: number | undefined;
  refused?: Refused;
}

/** The limits of dollars that hold for what the caller creates. Nothing is asked where there is none. */
export async function budgetsOf(
  sql: Sql,
  { key }: Pick<Principal, "key">,
  { maxCostUsdPerDay }: BudgetRules,
): Promise<Budget[]> {
  const ofKey = key?.limits?.max_cost_usd_per_day;
  const limits = [
    ...(ofKey === undefined ? [] : [{ of: "key" as const, subject: `key ${key?.key_id}`, limit_usd: ofKey }]),
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

/** A run that could not make a single model call is not taken. */
export async function requireBudget(sql: Sql, principal: Principal, rules: BudgetRules): Promise<void> {
  const spent = (await budgetsOf(sql, principal, rules)).find(
    ({ used_usd, limit_usd }) => used_usd >= limit_usd,
  );
  if (!spent) return;
  rules.refused?.({ of: spent.of, at: "creation" });
  const { limit_usd, resets_at } = spent;
  const whose = spent.of === "key" ? "The key" : "The installation";
  throw new Refusal(
    "budget_exceeded",
    `${whose} has used up its ${dollars(limit_usd)} for today. The next day begins at ${resets_at}.`,
  );
}

/** Before a model call, for the holder of the run's lease. */
export async function reserve(
  sql: Sql,
  executionId: string,
  { run_id, reservation_id, cost_usd, usd }: ReserveRequest,
  { maxCostUsdPerDay, refused }: BudgetRules,
): Promise<ReserveResponse> {
  const reserved = await reserveCost(sql, {
    runId: run_id,
    executionId,
    reservationId: reservation_id,
    cost: cost_usd,
    usd,
    maxTotal: maxCostUsdPerDay,
  });
  if (!reserved) throw new Refusal("conflict", "The lease is lost: the run is not this execution's.");
  const { is_limited, refused_by, limit_usd, used_usd } = reserved;
  if (refused_by === null) return { is_limited };
  const of = refused_by === "installation" ? "installation" : "key";
  refused?.({ of, at: "call" });
  const whose = of === "key" ? "The run's key" : "The installation";
  const refusal = `${whose} may spend ${dollars(limit_usd as number)} a day. ${dollars(used_usd as number)} are spent or reserved, and the next model call may take ${dollars(usd)}. What the run did is kept; the next day begins at 00:00 UTC.`;
  return { is_limited, refusal };
}

export async function settle(sql: Sql, { run_id, reservation_id, cost_usd }: SettleRequest): Promise<void> {
  await settleCost(sql, { runId: run_id, reservationId: reservation_id, cost: cost_usd });
}

/** Rounded to what a limit can be set to, up: what is nearly spent must not look like nothing. */
function dollars(usd: number): string {
  return `$${(Math.ceil(Number((usd * 100).toFixed(6))) / 100).toFixed(2)}`;
}
