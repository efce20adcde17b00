import { z } from "zod";
import { Artifact } from "../artifact.ts";
import { redirectToBucket, route } from "../route.ts";
import { Uuid } from "../text.ts";

const runId = z.object({ runId: Uuid });
const artifactId = z.object({ artifactId: Uuid });

export const artifactsRoutes = {
  getArtifact: route({
    method: "GET",
    path: "/agent/artifacts/{artifactId}",
    tag: "Artifacts",
    summary: "Get an artifact",
    scope: "runs:read",
    params: artifactId,
    responses: { 200: { description: "The artifact.", schema: Artifact } },
    errors: [],
  }),
  getArtifactContent: route({
    method: "GET",
    path: "/agent/artifacts/{artifactId}/content",
    tag: "Artifacts",
    summary: "Download an artifact",
    description: "Supports conditional requests, and ranges so that an interrupted download can be resumed.",
    scope: "runs:read",
    params: artifactId,
    responses: {
      200: {
        description: "The content of the artifact.",
        media: ["application/octet-stream"],
        ranges: true,
      },
      307: redirectToBucket,
    },
    errors: ["range_not_satisfiable"],
  }),
  getDiff: route({
    method: "GET",
    path: "/agent/runs/{runId}/diff",
    tag: "Artifacts",
    summary: "Get the diff of a run",
    description:
      "Returns one unified diff against the commits that the run started from, in the format of `git apply`. It is updated during a turn and at its end. It is empty if nothing has changed. Binary files that contain a secret are listed without their content.",
    scope: "runs:read",
    params: runId,
    responses: { 200: { description: "The diff.", media: ["text/x-diff"] } },
    errors: [],
  }),
};
