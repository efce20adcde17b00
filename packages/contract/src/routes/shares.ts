import { z } from "zod";
import { route } from "../route.ts";
import { ShareRequest, ShareResponse } from "../share.ts";
import { Uuid } from "../text.ts";

const runId = z.object({ runId: Uuid });

export const sharesRoutes = {
  createShare: route({
    method: "POST",
    path: "/agent/runs/{runId}/share",
    tag: "Sharing",
    summary: "Make a link by which anybody can read a run",
    description:
      "For who may steer the run, with a key that may also read it. A run has one link: a new one replaces the one before, which ends at once. The link answers the transcript without a key, and nothing else of the installation.",
    scope: "runs:write",
    params: runId,
    body: ShareRequest,
    answers: { 201: { description: "The link, this once: we keep a hash.", schema: ShareResponse } },
    errors: [],
  }),
  deleteShare: route({
    method: "DELETE",
    path: "/agent/runs/{runId}/share",
    tag: "Sharing",
    summary: "End a run's share link at once",
    description: "Answers the same where the run has none.",
    scope: "runs:write",
    params: runId,
    answers: { 204: { description: "No link opens the run." } },
    errors: [],
  }),
};
