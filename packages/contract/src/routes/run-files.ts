import { z } from "zod";
import { route } from "../route.ts";
import { ListRunFilesQuery, ReadRunFileQuery, RunFiles } from "../run-file.ts";
import { Uuid } from "../text.ts";

const runId = z.object({ runId: Uuid });

export const runFilesRoutes = {
  listRunFiles: route({
    method: "GET",
    path: "/agent/runs/{runId}/files",
    tag: "Files",
    summary: "List the files of a run",
    description:
      "Lists one folder of the run's workspace: as it is now if the run's sandbox is open, otherwise as it was stored last. A worker reads the files, so the call can take several seconds. If no worker answers within 15 seconds, it fails with `resource_unavailable`.",
    scope: "runs:read",
    params: runId,
    query: ListRunFilesQuery,
    responses: { 200: { description: "The content of the folder.", schema: RunFiles } },
    errors: ["conflict"],
  }),
  readRunFile: route({
    method: "GET",
    path: "/agent/runs/{runId}/files/content",
    tag: "Files",
    summary: "Download a file of a run",
    description:
      "Returns a file of at most 32 MiB from the run's workspace. Secrets in text files are replaced with `***`; a binary file that contains a secret is not returned. Links are not followed.",
    scope: "runs:read",
    params: runId,
    query: ReadRunFileQuery,
    responses: {
      200: { description: "The content of the file.", media: ["application/octet-stream"] },
    },
    errors: ["conflict"],
  }),
};
