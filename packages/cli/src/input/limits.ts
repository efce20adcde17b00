import { Complaint } from "../exit.ts";
import { numberOf, pairsOf } from "./pairs.ts";

/** `name=number`, for names that are known here so that a typo does not have to travel. */
export function limitsOf<Name extends string>(
  texts: string[] | undefined,
  names: readonly Name[],
): { [K in Name]?: number } | undefined {
  if (!texts) return undefined;
  const limits: { [K in Name]?: number } = {};
  for (const [name, value] of Object.entries(pairsOf("--limit", texts))) {
    const known = names.find((each) => each === name);
    if (!known) throw new Complaint(`--limit knows ${names.join(", ")}, not ${JSON.stringify(name)}.`);
    limits[known] = numberOf(`--limit ${name}`, value);
  }
  return limits;
}

export const runLimits = ["max_cost_usd", "max_steps", "timeout_minutes"] as const;
export const keyLimits = ["max_concurrent_runs", "max_cost_usd_per_day"] as const;
