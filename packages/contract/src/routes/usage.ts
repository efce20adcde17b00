import { route } from "../route.ts";
import { GetUsageLoadQuery, GetUsageQuery, UsageLoadResponse, UsageResponse } from "../usage.ts";

export const usageRoutes = {
  getUsage: route({
    method: "GET",
    path: "/usage",
    tag: "Usage",
    summary: "Get runs, cost, tokens and durations over time",
    description:
      "With `Accept: text/csv`, the call returns one line per interval, or one line per group with `group_by`. The usage of deleted runs stays included. A key that is limited to environments gets the usage of these environments, and an agent key is refused.",
    scope: "runs:read",
    query: GetUsageQuery,
    responses: {
      200: { description: "Usage.", schema: UsageResponse, media: ["application/json", "text/csv"] },
    },
    errors: [],
  }),
  getUsageLoad: route({
    method: "GET",
    path: "/usage/load",
    tag: "Usage",
    summary: "Get the load of the workers over time",
    description:
      "The load is measured every minute. With `Accept: text/csv`, the call returns one line per interval.",
    scope: "runs:read",
    query: GetUsageLoadQuery,
    responses: {
      200: { description: "Load.", schema: UsageLoadResponse, media: ["application/json", "text/csv"] },
    },
    errors: [],
  }),
};
