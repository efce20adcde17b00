import { z } from "zod";
import { ListRunsQuery } from "../query.ts";
import { noContent, route } from "../route.ts";
import { CancelRunResponse, ListRunsResponse, RunAgentRequest, RunAgentResponse, RunItem } from "../run.ts";
import { Uuid } from "../text.ts";

const runId = z.object({ runId: Uuid });

const createRun = route({
  method: "POST",
  path: "/agent/run",
  tag: "Runs",
  summary: "Create a run",
  description:
    "Returns immediately; the agent starts later. Send an `Idempotency-Key` so that a retry does not create a second run.",
  scope: "runs:write",
  body: RunAgentRequest,
  recordsClient: true,
  attachments: true,
  responses: {
    200: {
      description: "The run is queued.",
      schema: RunAgentResponse,
      headers: { Location: "URL of the run." },
    },
  },
  errors: ["model_not_available"],
});

export const runsRoutes = {
  createRun,
  createRunAlias: route({
    ...createRun,
    path: "/agent/runs",
    summary: "Create a run (alias of POST /agent/run)",
    aliasOf: "createRun",
  }),
  listRuns: route({
    method: "GET",
    path: "/agent/runs",
    tag: "Runs",
    summary: "List runs",
    description:
      "Runs must match all filters. Repeat a filter to match any of several values. Pages are stable: creating runs in the meantime does not skip or repeat any. With `Accept: text/event-stream`, the call streams `{run_id, state, updated_at}` for each change to a matching run, starting now.",
    scope: "runs:read",
    query: ListRunsQuery,
    responses: {
      200: {
        description: "A page of runs, newest first by default.",
        schema: ListRunsResponse,
        stream: true,
      },
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
    responses: { 200: { description: "The run.", schema: RunItem } },
    errors: [],
  }),
  deleteRun: route({
    method: "DELETE",
    path: "/agent/runs/{runId}",
    tag: "Runs",
    summary: "Delete a finished run and all of its data",
    scope: "runs:write",
    params: runId,
    responses: noContent,
    errors: ["conflict"],
  }),
  cancelRun: route({
    method: "POST",
    path: "/agent/runs/{runId}/cancel",
    tag: "Runs",
    summary: "Cancel a run",
    description:
      "Cancels a run in any state that is not final. Cancelling a CANCELLED run succeeds; cancelling a SUCCEEDED or FAILED run is a conflict.",
    scope: "runs:write",
    params: runId,
    responses: { 200: { description: "The run is cancelled.", schema: CancelRunResponse } },
    errors: ["conflict"],
  }),
};
