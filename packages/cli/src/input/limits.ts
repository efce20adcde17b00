import { UsageError } from "../exit-codes.ts";
import { parseNumber, parsePairs } from "./pairs.ts";

/** Parses `name=number` flags. Checks the names, so that a typo fails before any request is sent. */
export function parseLimits<Name extends string>(
  texts: string[] | undefined,
  names: readonly Name[],
): { [K in Name]?: number } | undefined {
  if (!texts) return undefined;
  const limits: { [K in Name]?: number } = {};
  for (const [name, value] of Object.entries(parsePairs("--limit", texts))) {
    const known = names.find((candidate) => candidate === name);
    if (!known)
      throw new UsageError(
        `--limit does not support ${JSON.stringify(name)}. Use one of ${names.join(", ")}.`,
      );
    limits[known] = parseNumber(`--limit ${name}`, value);
  }
  return limits;
}

export const runLimits = ["max_cost_usd", "max_steps", "timeout_minutes"] as const;
export const keyLimits = ["max_concurrent_runs", "max_cost_usd_per_day"] as const;
