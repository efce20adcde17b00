import type { Quotas } from "@outrider/contract/quota";
import type { Principal } from "../../engine/auth/principal.ts";
import { budgetsOf } from "../../engine/limits/budgets.ts";
import type { RateStatus } from "../../engine/limits/rates.ts";
import { listConcurrencyLimits } from "../../store/dispatch/active-runs.ts";
import type { Services } from "./call.ts";
import type { RateLimits } from "./rate-limits.ts";

/** Returns the limits that apply to the caller and the remaining amount of each. */
export async function quotasOf(
  { db, policy, quotas }: Pick<Services, "db" | "policy" | "quotas">,
  rateLimits: RateLimits,
  principal: Principal,
): Promise<Quotas> {
  const { key, creator } = principal;
  const dimensions = {
    owner_uid: creator.uid,
    key_id: key?.key_id ?? principal.credentialId,
    environment_id: null,
  };
  const [rates, budgets, limits] = await Promise.all([
    rateLimits.peek(principal),
    budgetsOf(db, principal, quotas),
    listConcurrencyLimits(db, dimensions, policy.maxConcurrentRuns),
  ]);
  return {
    requests: formatRate(rates.requests),
    creations: formatRate(rates.creations),
    cost_per_day: Object.fromEntries(budgets.map(({ of, ...budget }) => [of, budget])),
    concurrent_runs: Object.fromEntries(
      limits.map(({ kind, max, active }) => [kind, { limit: max, active }]),
    ),
  };
}

function formatRate({ limit, remaining, windowSeconds, seconds }: RateStatus): Quotas["requests"] {
  return { limit, remaining, window_seconds: windowSeconds, resets_in_seconds: seconds };
}
