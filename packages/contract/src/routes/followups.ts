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
      "Steers a run at work, joins the prompt of a waiting one, continues a finished or blocked one.",
    scope: "runs:write",
    params: runId,
    body: RunFollowupRequest,
    attachments: true,
    answers: { 200: { description: "The message is stored.", schema: RunFollowupResponse } },
    errors: ["conflict"],
  }),
  listFollowups: route({
    method: "GET",
    path: "/agent/runs/{runId}/followups",
    tag: "Follow-ups",
    summary: "List follow-ups",
    scope: "runs:read",
    params: runId,
    answers: { 200: { description: "In the order in which they were sent.", schema: ListFollowupsResponse } },
    errors: [],
  }),
  updateFollowup: route({
    method: "PATCH",
    path: "/agent/runs/{runId}/followups/{followupId}",
    tag: "Follow-ups",
    summary: "Change a follow-up that is still queued",
    scope: "runs:write",
    params: followupId,
    body: UpdateFollowupRequest,
    answers: { 200: { description: "As it is now.", schema: Followup } },
    errors: ["conflict"],
  }),
  deleteFollowup: route({
    method: "DELETE",
    path: "/agent/runs/{runId}/followups/{followupId}",
    tag: "Follow-ups",
    summary: "Withdraw a follow-up that is still queued",
    scope: "runs:write",
    params: followupId,
    answers: { 204: { description: "It is withdrawn." } },
    errors: ["conflict"],
  }),
};
