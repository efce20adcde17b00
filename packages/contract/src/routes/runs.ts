import { z } from "zod";
import { ListRunsQuery } from "../query.ts";
import { gone, route } from "../route.ts";
import { CancelRunResponse, ListRunsResponse, RunAgentRequest, RunAgentResponse, RunItem } from "../run.ts";
import { Uuid } from "../text.ts";

const runId = z.object({ runId: Uuid });

const createRun = route({
  method: "POST",
  path: "/agent/run",
  tag: "Runs",
  summary: "Create a run",
  description:
    "Answers at once; the agent starts afterwards. Send an `Idempotency-Key` so that a retry starts no second agent.",
  scope: "runs:write",
  body: RunAgentRequest,
  attachments: true,
  answers: {
    200: {
      description: "The run is queued.",
      schema: RunAgentResponse,
      headers: { Location: "The address of the run." },
    },
  },
  errors: ["model_not_available"],
});

export const runsRoutes = {
  createRun,
  createRunAlias: route({
    ...createRun,
    path: "/agent/runs",
    summary: "Create a run (the same as POST /agent/run)",
    aliasOf: "createRun",
  }),
  listRuns: route({
    method: "GET",
    path: "/agent/runs",
    tag: "Runs",
    summary: "List runs",
    description:
      'Filters are ANDed; each may be repeated for "any of". Pages are stable: nothing is skipped or repeated while others are created. With `Accept: text/event-stream`: hints `{run_id, state, updated_at}` of changes under the same filters, from now on.',
    scope: "runs:read",
    query: ListRunsQuery,
    answers: {
      200: { description: "A page of runs, recent ones first.", schema: ListRunsResponse, stream: true },
    },
    errors: [],
  }),
  getRun: route({
    method: "GET",
    path: "/agent/runs/{runId}",
    tag: "Runs",
    summary: "Get a run",
    scope: "runs:read",
    params: runId,
    answers: { 200: { description: "The whole run.", schema: RunItem } },
    errors: [],
  }),
  deleteRun: route({
    method: "DELETE",
    path: "/agent/runs/{runId}",
    tag: "Runs",
    summary: "Delete a finished run with everything of it",
    scope: "runs:write",
    params: runId,
    answers: gone,
    errors: ["conflict"],
  }),
  cancelRun: route({
    method: "POST",
    path: "/agent/runs/{runId}/cancel",
    tag: "Runs",
    summary: "Cancel a run",
    description:
      "In every state that is not final. A second cancel answers the same; on SUCCEEDED or FAILED it is a conflict.",
    scope: "runs:write",
    params: runId,
    answers: { 200: { description: "The run is cancelled.", schema: CancelRunResponse } },
    errors: ["conflict"],
  }),
};
