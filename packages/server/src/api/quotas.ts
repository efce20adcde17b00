import type { Quotas } from "@outrider/contract/quota";
import { budgetsOf } from "../engine/budgets.ts";
import type { Principal } from "../engine/principal.ts";
import type { Standing } from "../engine/rates.ts";
import { countBusy, listConcurrencyLimits } from "../store/leases.ts";
import type { Services } from "./call.ts";
import type { RateLimits } from "./rate-limits.ts";

/** What applies to the caller, and what is left of it. */
export async function quotasOf(
  { db, rules, quotas }: Pick<Services, "db" | "rules" | "quotas">,
  rateLimits: RateLimits,
  principal: Principal,
): Promise<Quotas> {
  const [rates, budgets, limits, busy] = await Promise.all([
    rateLimits.look(principal),
    budgetsOf(db, principal, quotas),
    listConcurrencyLimits(db),
    countBusy(db),
  ]);
  const { key, creator } = principal;
  const atWork = (isMine: (run: (typeof busy)[number]) => boolean) =>
    busy.filter(isMine).reduce((sum, { count }) => sum + count, 0);
  const limitOf = (kind: "key" | "agent", id: string | undefined) =>
    limits.find((limit) => limit.kind === kind && limit.id === id)?.max;
  const [ofKey, ofAgent] = [limitOf("key", key?.key_id), limitOf("agent", creator.uid)];
  const { maxConcurrentRuns } = rules;
  return {
    requests: rateOf(rates.requests),
    creations: rateOf(rates.creations),
    cost_per_day: Object.fromEntries(budgets.map(({ of, ...budget }) => [of, budget])),
    runs_at_once: {
      ...(ofKey === undefined
        ? {}
        : { key: { limit: ofKey, at_work: atWork(({ key_id }) => key_id === key?.key_id) } }),
      ...(ofAgent === undefined
        ? {}
        : { agent: { limit: ofAgent, at_work: atWork(({ owner_uid }) => owner_uid === creator.uid) } }),
      ...(maxConcurrentRuns === undefined
        ? {}
        : { installation: { limit: maxConcurrentRuns, at_work: atWork(() => true) } }),
    },
  };
}

function rateOf({ limit, remaining, windowSeconds, seconds }: Standing): Quotas["requests"] {
  return { limit, remaining, window_seconds: windowSeconds, resets_in_seconds: seconds };
}
