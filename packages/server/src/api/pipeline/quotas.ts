import type { Quotas } from "@outrider/contract/quota";
import type { Principal } from "../../engine/auth/principal.ts";
import { budgetsOf } from "../../engine/limits/budgets.ts";
import type { RateStatus } from "../../engine/limits/rates.ts";
import { countBusy, listConcurrencyLimits } from "../../store/dispatch/leases.ts";
import type { Services } from "./call.ts";
import type { RateLimits } from "./rate-limits.ts";

/** Returns the limits that apply to the caller and the remaining amount of each. */
export async function quotasOf(
  { db, policy, quotas }: Pick<Services, "db" | "policy" | "quotas">,
  rateLimits: RateLimits,
  principal: Principal,
): Promise<Quotas> {
  const [rates, budgets, limits, activeRuns] = await Promise.all([
    rateLimits.peek(principal),
    budgetsOf(db, principal, quotas),
    listConcurrencyLimits(db),
    countBusy(db),
  ]);
  const { key, creator } = principal;
  const countActive = (isCounted: (run: (typeof activeRuns)[number]) => boolean) =>
    activeRuns.filter(isCounted).reduce((sum, { count }) => sum + count, 0);
  const limitOf = (kind: "key" | "agent", id: string | undefined) =>
    limits.find((limit) => limit.kind === kind && limit.id === id)?.max;
  const [keyLimit, agentLimit] = [limitOf("key", key?.key_id), limitOf("agent", creator.uid)];
  const { maxConcurrentRuns } = policy;
  return {
    requests: formatRate(rates.requests),
    creations: formatRate(rates.creations),
    cost_per_day: Object.fromEntries(budgets.map(({ of, ...budget }) => [of, budget])),
    concurrent_runs: {
      ...(keyLimit === undefined
        ? {}
        : { key: { limit: keyLimit, active: countActive(({ key_id }) => key_id === key?.key_id) } }),
      ...(agentLimit === undefined
        ? {}
        : {
            agent: { limit: agentLimit, active: countActive(({ owner_uid }) => owner_uid === creator.uid) },
          }),
      ...(maxConcurrentRuns === undefined
        ? {}
        : { installation: { limit: maxConcurrentRuns, active: countActive(() => true) } }),
    },
  };
}

function formatRate({ limit, remaining, windowSeconds, seconds }: RateStatus): Quotas["requests"] {
  return { limit, remaining, window_seconds: windowSeconds, resets_in_seconds: seconds };
}
