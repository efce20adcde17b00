import type { Artifact } from "@outrider/contract/artifact";
import { notFound } from "../../engine/api-error.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { countChangedFiles } from "../../engine/runs/changed-files.ts";
import { requireRun } from "../../engine/runs/runs.ts";
import type { Sql } from "../../store/connection/db.ts";
import { findArtifact, findPullRequestArtifact } from "../../store/runs/artifacts.ts";
import { type Handlers, ok, STREAMED } from "../pipeline/call.ts";
import { sendArtifact, sendDiff, sendUrl } from "./files.ts";

/** `sha256` is absent for a pull request, which has no stored content. */
async function requireArtifact(
  sql: Sql,
  principal: Principal,
  artifactId: string,
): Promise<{ artifact: Artifact; sha256?: string }> {
  const { sha256, ...stored } = (await findArtifact(sql, artifactId)) ?? {};
  const artifact = sha256 ? (stored as Artifact) : await findPullRequestArtifact(sql, artifactId);
  if (!artifact) throw notFound("artifact");
  await requireRun(sql, principal, artifact.run_id);
  return { artifact, ...(sha256 ? { sha256 } : {}) };
}

export const artifactHandlers: Pick<Handlers, "getArtifact" | "getArtifactContent" | "getDiff"> = {
  async getArtifact({ sql, services, principal, params }) {
    const { artifact, sha256 } = await requireArtifact(sql, principal, params.artifactId);
    if (artifact.artifact_type !== "PATCH" || artifact.removed_at || !sha256) return ok(artifact);
    const files_changed = await countChangedFiles(services.blobs, sha256);
    return ok({ ...artifact, ...(files_changed === undefined ? {} : { files_changed }) });
  },

  async getArtifactContent({ sql, services, principal, params, request, reply }) {
    const { artifact, sha256 } = await requireArtifact(sql, principal, params.artifactId);
    const { name, pull_request } = artifact;
    if (pull_request) await sendUrl(reply, { url: pull_request.url, name });
    else if (sha256)
      await sendArtifact(request, reply, { blobs: services.blobs, artifact: { ...artifact, sha256 } });
    return STREAMED;
  },

  async getDiff({ sql, services, principal, params, reply }) {
    await requireRun(sql, principal, params.runId);
    await sendDiff(reply, { sql, blobs: services.blobs, runId: params.runId });
    return STREAMED;
  },
};
