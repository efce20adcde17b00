import { z } from "zod";
import {
  Followup,
  ListFollowupsResponse,
  RunFollowupRequest,
  RunFollowupResponse,
  UpdateFollowupRequest,
} from "../followup.ts";
import { route } from "../route.ts";
import { Uuid } from "../text.ts";

const runId = z.object({ runId: Uuid });
const followupId = z.object({ runId: Uuid, followupId: Uuid });

export const followupsRoutes = {
  createFollowup: route({
    method: "POST",
    path: "/agent/runs/{runId}/followups",
    tag: "Follow-ups",
    summary: "Send a follow-up",
    description:
      "Steers a run in progress, adds to the prompt of a queued run, or continues a finished or blocked run.",
    scope: "runs:write",
    params: runId,
    body: RunFollowupRequest,
    attachments: true,
    responses: { 200: { description: "The message is stored.", schema: RunFollowupResponse } },
    errors: ["conflict"],
  }),
  listFollowups: route({
    method: "GET",
    path: "/agent/runs/{runId}/followups",
    tag: "Follow-ups",
    summary: "List follow-ups",
    scope: "runs:read",
    params: runId,
    responses: {
      200: { description: "Follow-ups in the order in which they were sent.", schema: ListFollowupsResponse },
    },
    errors: [],
  }),
  updateFollowup: route({
    method: "PATCH",
    path: "/agent/runs/{runId}/followups/{followupId}",
    tag: "Follow-ups",
    summary: "Update a queued follow-up",
    scope: "runs:write",
    params: followupId,
    body: UpdateFollowupRequest,
    responses: { 200: { description: "The updated follow-up.", schema: Followup } },
    errors: ["conflict"],
  }),
  deleteFollowup: route({
    method: "DELETE",
    path: "/agent/runs/{runId}/followups/{followupId}",
    tag: "Follow-ups",
    summary: "Withdraw a queued follow-up",
    scope: "runs:write",
    params: followupId,
    responses: { 204: { description: "Withdrawn." } },
    errors: ["conflict"],
  }),
};
