import type { GetUsageQuery } from "@outrider/sdk";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { outrider } from "../../api.ts";
import { periodOf } from "./period.ts";
import type { InsightsSearch } from "./search.ts";

const REFRESH_MS = 60_000;

type Selected = Pick<InsightsSearch, "range" | "from" | "to" | "compare" | "environment">;

/** The usage in the selected period, if wanted by a dimension. The previous result stays until the next arrives. */
export function usageQuery(selected: Selected, dimension?: GetUsageQuery["group_by"]) {
  const { range, from, to, compare, environment } = selected;
  return queryOptions({
    queryKey: ["usage", { range, from, to, compare, environment }, dimension],
    queryFn: ({ signal }) =>
      outrider.usage.get(
        {
          ...periodOf(selected, Date.now()),
          ...(dimension && { group_by: dimension }),
          ...(compare !== "off" && { compare: "previous" }),
          ...(environment && { environment_id: environment }),
        },
        { signal },
      ),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });
}

export function loadQuery(selected: Pick<InsightsSearch, "range" | "from" | "to">) {
  const { range, from, to } = selected;
  return queryOptions({
    queryKey: ["usage", "load", { range, from, to }],
    queryFn: ({ signal }) => {
      const period = periodOf(selected, Date.now());
      return outrider.usage.load({ from: period.from, to: period.to }, { signal });
    },
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });
}

/** The load of one worker on the last day. */
export function workerLoadQuery(workerId: string) {
  return queryOptions({
    queryKey: ["usage", "load", workerId],
    queryFn: ({ signal }) => outrider.usage.load({ worker_id: workerId }, { signal }),
    refetchInterval: REFRESH_MS,
  });
}

/** The runs of each environment in the last 30 days. */
export function environmentUsageQuery() {
  return queryOptions({ ...usageQuery({ compare: "off" }, "environment"), refetchInterval: 5 * REFRESH_MS });
}
