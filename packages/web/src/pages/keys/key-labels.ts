import type { Key, KeyLimits, KeyType, Scope } from "@outrider/sdk";
import { formatDollars } from "../../ui/format/numbers.ts";

export const typeLabels: Record<KeyType, string> = { personal: "Personal", agent: "Agent", worker: "Worker" };

export const typeDescriptions: Record<KeyType, string> = {
  personal: "Acts as you in scripts, in CI and on your laptop.",
  agent: "Acts as a cloud agent and sees only its runs.",
  worker: "Lets a machine claim and execute runs, and nothing else.",
};

export const scopeLabels: Record<Scope, string> = {
  "runs:read": "Read runs",
  "runs:write": "Create and manage runs",
  admin: "Admin",
};

/** Summarizes a key's permissions. */
export function permissionsOf({ type, scopes }: Pick<Key, "type" | "scopes">): string {
  if (type === "worker") return "Claim runs";
  if (scopes.includes("admin")) return "Full admin access";
  if (scopes.includes("runs:write"))
    return scopes.includes("runs:read") ? "Read and manage runs" : "Create and manage runs";
  return "Read runs";
}

export function limitsOf(limits: KeyLimits | undefined): string[] {
  const {
    max_concurrent_runs: runs,
    max_cost_usd_per_day: cost,
    environment_ids: environments,
  } = limits ?? {};
  return [
    ...(runs ? [`${runs} concurrent ${runs === 1 ? "run" : "runs"}`] : []),
    ...(cost ? [`${formatDollars(cost)} per day`] : []),
    ...(environments
      ? [`${environments.length} ${environments.length === 1 ? "environment" : "environments"} only`]
      : []),
  ];
}
