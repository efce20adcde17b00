import type { Principal } from "../../engine/principal.ts";
import { notFound } from "../../engine/refusal.ts";
import { requireRun } from "../../engine/runs.ts";
import { findArtifact } from "../../store/artifacts.ts";
import type { Sql } from "../../store/db.ts";
import { type Handlers, ok, STREAMED } from "../call.ts";
import { sendArtifact, sendDiff } from "../files.ts";

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

  async getArtifactContent({ sql, services, principal, params, reply }) {
    const artifact = await requireArtifact(sql, principal, params.artifactId);
    await sendArtifact(reply, { blobs: services.blobs, artifact });
    return STREAMED;
  },

  async getDiff({ sql, services, principal, params, reply }) {
    await requireRun(sql, principal, params.runId);
    await sendDiff(reply, { sql, blobs: services.blobs, runId: params.runId });
    return STREAMED;
  },
};
