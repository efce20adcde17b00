import { z } from "zod";
import { Artifact } from "../artifact.ts";
import { route } from "../route.ts";
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
    answers: { 200: { description: "What it is.", schema: Artifact } },
    errors: [],
  }),
  getArtifactContent: route({
    method: "GET",
    path: "/agent/artifacts/{artifactId}/content",
    tag: "Artifacts",
    summary: "Download an artifact",
    scope: "runs:read",
    params: artifactId,
    answers: { 200: { description: "Its bytes, as a download.", media: ["application/octet-stream"] } },
    errors: [],
  }),
  getDiff: route({
    method: "GET",
    path: "/agent/runs/{runId}/diff",
    tag: "Artifacts",
    summary: "Read what a run has changed",
    description:
      "One unified patch against the commits it started from, as `git apply` takes it. Stored when a turn ends, and from time to time before; empty where nothing has changed.",
    scope: "runs:read",
    params: runId,
    answers: { 200: { description: "The patch.", media: ["text/x-diff"] } },
    errors: [],
  }),
};
