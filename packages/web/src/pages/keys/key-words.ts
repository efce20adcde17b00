import type { Key, KeyLimits, KeyType, Scope } from "@outrider/sdk";
import { dollars } from "../../ui/amount.ts";

export const typeWords: Record<KeyType, string> = { personal: "Personal", agent: "Agent", worker: "Worker" };

export const scopeWords: Record<Scope, string> = {
  "runs:read": "Read runs",
  "runs:write": "Create and steer runs",
  admin: "Administer",
};

/** What a key may do, in a few words. */
export function powersOf({ type, scopes }: Pick<Key, "type" | "scopes">): string {
  if (type === "worker") return "Take runs";
  if (scopes.includes("admin")) return "Everything an admin may";
  if (scopes.includes("runs:write"))
    return scopes.includes("runs:read") ? "Read and steer runs" : "Create and steer runs";
  return "Read runs";
}

export function limitsOf(limits: KeyLimits | undefined): string[] {
  const { max_concurrent_runs: runs, max_cost_usd_per_day: cost, environment_ids: places } = limits ?? {};
  return [
    ...(runs ? [`${runs} ${runs === 1 ? "run" : "runs"} at once`] : []),
    ...(cost ? [`${dollars(cost)} a day`] : []),
    ...(places ? [`${places.length} ${places.length === 1 ? "environment" : "environments"} only`] : []),
  ];
}
