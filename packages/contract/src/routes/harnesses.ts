import { ListHarnessesResponse } from "../harness.ts";
import { route } from "../route.ts";

export const harnessesRoutes = {
  listHarnesses: route({
    method: "GET",
    path: "/agent/harnesses",
    tag: "Harnesses",
    summary: "List harnesses",
    scope: "runs:read",
    responses: {
      200: {
        description: "The agent programs that `harness` accepts, and whether each can be used now.",
        schema: ListHarnessesResponse,
      },
    },
    errors: [],
  }),
};
