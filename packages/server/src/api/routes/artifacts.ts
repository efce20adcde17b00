import { notFound } from "../../engine/api-error.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { requireRun } from "../../engine/runs/runs.ts";
import type { Sql } from "../../store/connection/db.ts";
import { findArtifact } from "../../store/runs/artifacts.ts";
import { type Handlers, ok, STREAMED } from "../pipeline/call.ts";
import { sendArtifact, sendDiff } from "./files.ts";

async function requireArtifact(sql: Sql, principal: Principal, artifactId: string) {
  const artifact = await findArtifact(sql, artifactId);
  if (!artifact) throw notFound("artifact");
  await requireRun(sql, principal, artifact.run_id);
  return artifact;
}

export const artifactHandlers: Pick<Handlers, "getArtifact" | "getArtifactContent" | "getDiff"> = {
  async getArtifact({ sql, principal, params }) {
    const { sha256, ...artifact } = await requireArtifact(sql, principal, params.artifactId);
    return ok(artifact);
  },

  async getArtifactContent({ sql, services, principal, params, request, reply }) {
    const artifact = await requireArtifact(sql, principal, params.artifactId);
    await sendArtifact(request, reply, { blobs: services.blobs, artifact });
    return STREAMED;
  },

  async getDiff({ sql, services, principal, params, reply }) {
    await requireRun(sql, principal, params.runId);
    await sendDiff(reply, { sql, blobs: services.blobs, runId: params.runId });
    return STREAMED;
  },
};
