import { z } from "zod";
import {
  ListPublicationsResponse,
  Publication,
  PublicationDecisionRequest,
  PublicationRequest,
} from "../publication.ts";
import { redirectToBucket, route } from "../route.ts";
import { text, Uuid } from "../text.ts";

const runId = z.object({ runId: Uuid });
const publicationId = runId.extend({ publicationId: Uuid });

export const publicationsRoutes = {
  createPublication: route({
    method: "POST",
    path: "/agent/runs/{runId}/publications",
    tag: "Publications",
    summary: "Publish the changes of a run",
    description:
      "Pushes the changes of the latest turn to the run's branch and opens a pull request, within the environment's policy. The run can be finished. Poll the publication until its state is final, or AWAITING_APPROVAL.",
    scope: "runs:write",
    params: runId,
    body: PublicationRequest,
    responses: { 201: { description: "The publication.", schema: Publication } },
    errors: ["conflict"],
  }),
  listPublications: route({
    method: "GET",
    path: "/agent/runs/{runId}/publications",
    tag: "Publications",
    summary: "List publications and what can be published",
    scope: "runs:read",
    params: runId,
    responses: { 200: { description: "Newest first.", schema: ListPublicationsResponse } },
    errors: [],
  }),
  getPublication: route({
    method: "GET",
    path: "/agent/runs/{runId}/publications/{publicationId}",
    tag: "Publications",
    summary: "Get a publication",
    scope: "runs:read",
    params: publicationId,
    responses: { 200: { description: "The publication.", schema: Publication } },
    errors: [],
  }),
  approvePublication: route({
    method: "POST",
    path: "/agent/runs/{runId}/publications/{publicationId}/approve",
    tag: "Publications",
    summary: "Approve a publication",
    description:
      "Exactly the commits that the publication names are pushed. Only users can approve, not cloud agents.",
    scope: "runs:write",
    params: publicationId,
    body: PublicationDecisionRequest,
    responses: { 200: { description: "The publication.", schema: Publication } },
    errors: ["conflict"],
  }),
  rejectPublication: route({
    method: "POST",
    path: "/agent/runs/{runId}/publications/{publicationId}/reject",
    tag: "Publications",
    summary: "Reject a publication",
    description: "Nothing is pushed. With a comment, the run continues with it.",
    scope: "runs:write",
    params: publicationId,
    body: PublicationDecisionRequest,
    responses: { 200: { description: "The publication.", schema: Publication } },
    errors: ["conflict"],
  }),
  getCommits: route({
    method: "GET",
    path: "/agent/runs/{runId}/commits",
    tag: "Publications",
    summary: "Download the commits of a run",
    description:
      "Returns a git bundle with the commits of the latest turn that are not in the base commit. `git fetch FILE refs/outrider/staged` reads it in a clone of the repository.",
    scope: "runs:read",
    params: runId,
    query: z.strictObject({
      path: text({ max: 250 }).optional().meta({
        description: "Path of the repository in the workspace. Required if the run has changes in several.",
      }),
    }),
    responses: {
      200: { description: "The bundle.", media: ["application/x-git-bundle"] },
      307: redirectToBucket,
    },
    errors: ["conflict"],
  }),
};
