import { z } from "zod";
import { route } from "../route.ts";
import { ShareRequest, ShareResponse } from "../shares/share.ts";
import { Uuid } from "../text.ts";

const runId = z.object({ runId: Uuid });

export const sharesRoutes = {
  createShare: route({
    method: "POST",
    path: "/agent/runs/{runId}/share",
    tag: "Sharing",
    summary: "Create a public link to a run",
    description:
      "Anyone with the link can read the transcript without a key, and nothing else. A run has one link; a new link replaces the previous one immediately. Requires permission to steer the run and a key that can read it.",
    scope: "runs:write",
    params: runId,
    body: ShareRequest,
    responses: { 201: { description: "The link. It is shown only once.", schema: ShareResponse } },
    errors: [],
  }),
  deleteShare: route({
    method: "DELETE",
    path: "/agent/runs/{runId}/share",
    tag: "Sharing",
    summary: "Revoke the share link of a run",
    description: "Takes effect immediately. Succeeds if the run has no link.",
    scope: "runs:write",
    params: runId,
    responses: { 204: { description: "The run has no share link." } },
    errors: [],
  }),
};
