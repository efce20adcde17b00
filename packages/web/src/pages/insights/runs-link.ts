import type { UsageGroup } from "@outrider/sdk";
import type { Dimension } from "./search.ts";

export interface RunsFilter {
  from?: string | undefined;
  /** The end of the time range, which is not part of it. */
  to?: string | undefined;
  state?: string | undefined;
  error_code?: string | undefined;
  environment?: string | undefined;
  model?: string | undefined;
  creator?: string | undefined;
  source?: string | undefined;
}

/** Returns the address of the runs page with these filters. */
export function runsHref(filter: RunsFilter): string {
  const pairs = Object.entries(filter).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return `/runs?${new URLSearchParams(pairs)}`;
}

/** Returns the filter for a group's runs, or undefined if no filter selects exactly these. */
export function groupFilter(dimension: Dimension, group: UsageGroup): RunsFilter | undefined {
  if (group.is_other || group.key === "") return undefined;
  switch (dimension) {
    case "model":
      return { model: group.key };
    case "environment":
      return { environment: group.key };
    case "user":
    case "agent":
      return { creator: group.key };
    case "source":
      return { source: group.key };
    case "repository":
      return group.environment_ids?.length ? { environment: group.environment_ids.join(",") } : undefined;
  }
}

/**
 * Returns the filter for a group of failures. No filter selects runs without an error code or without an environment,
 * so such a group leads to more runs than it counts.
 */
export function failureFilter(group: UsageGroup): RunsFilter | undefined {
  if (group.is_other) return undefined;
  return { state: "FAILED", error_code: group.error_code, environment: group.environment_id };
}
