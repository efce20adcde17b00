import { z } from "zod";
import {
  AttentionRequest,
  DismissAttentionRequest,
  DismissAttentionResponse,
  ListAttentionQuery,
  ListAttentionResponse,
} from "../attention.ts";
import { route } from "../route.ts";
import { Uuid } from "../text.ts";

const runId = z.object({ runId: Uuid });

export const attentionRoutes = {
  listAttention: route({
    method: "GET",
    path: "/agent/attention",
    tag: "Attention",
    summary: "List runs that need attention",
    description:
      "Returns the runs that wait for an answer (BLOCKED) and those that FAILED in the last 14 days, latest change first. Runs that you dismissed or snoozed are left out until their state changes or the snooze ends.",
    scope: "runs:read",
    query: ListAttentionQuery,
    responses: { 200: { description: "The runs and their count.", schema: ListAttentionResponse } },
    errors: [],
  }),
  dismissAttention: route({
    method: "POST",
    path: "/agent/attention/dismiss",
    tag: "Attention",
    summary: "Dismiss all runs that need attention",
    description: "Applies only to you. Each run needs attention again when its state changes.",
    scope: "runs:write",
    body: DismissAttentionRequest,
    responses: { 200: { description: "The runs are dismissed.", schema: DismissAttentionResponse } },
    errors: [],
  }),
  putAttention: route({
    method: "PUT",
    path: "/agent/runs/{runId}/attention",
    tag: "Attention",
    summary: "Dismiss or snooze a run",
    description: "Applies only to you. A run that changes its state needs attention again.",
    scope: "runs:write",
    params: runId,
    body: AttentionRequest,
    responses: { 204: { description: "The run is dismissed or snoozed." } },
    errors: [],
  }),
  deleteAttention: route({
    method: "DELETE",
    path: "/agent/runs/{runId}/attention",
    tag: "Attention",
    summary: "Restore a dismissed or snoozed run",
    description: "Succeeds if the run is not dismissed.",
    scope: "runs:write",
    params: runId,
    responses: { 204: { description: "The run is not dismissed." } },
    errors: [],
  }),
};
