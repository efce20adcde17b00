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

/** Selects runs without an environment or without an error code. */
const NONE = "none";

/** Returns the filter for a group's runs, or undefined if no filter selects exactly these. */
export function groupFilter(dimension: Dimension, group: UsageGroup): RunsFilter | undefined {
  if (dimension === "environment" && !group.is_other) return { environment: group.key || NONE };
  if (group.is_other || group.key === "") return undefined;
  switch (dimension) {
    case "model":
      return { model: group.key };
    case "user":
    case "agent":
      return { creator: group.key };
    case "source":
      return { source: group.key };
    case "repository":
      return group.environment_ids?.length ? { environment: group.environment_ids.join(",") } : undefined;
  }
}

/** Returns the filter for the failed runs that a group counts. */
export function failureFilter(group: UsageGroup): RunsFilter | undefined {
  if (group.is_other) return undefined;
  const { error_code, environment_id } = group;
  return { state: "FAILED", error_code: error_code || NONE, environment: environment_id ?? NONE };
}
