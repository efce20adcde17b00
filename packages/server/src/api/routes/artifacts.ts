import type { Principal } from "../../engine/principal.ts";
import { notFound } from "../../engine/refusal.ts";
import { requireRun } from "../../engine/runs.ts";
import { findArtifact, findPatch } from "../../store/artifacts.ts";
import type { Sql } from "../../store/db.ts";
import { type Handlers, ok, STREAMED } from "../call.ts";

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

  /** Whatever an agent left is a download, never a page. */
  async getArtifactContent({ sql, services, principal, params, reply }) {
    const { sha256, name } = await requireArtifact(sql, principal, params.artifactId);
    const blob = await services.blobs.open(sha256);
    if (!blob) throw notFound("artifact");
    await reply
      .type("application/octet-stream")
      .header("content-length", blob.size)
      .header("content-disposition", `attachment; filename*=UTF-8''${encodeURIComponent(name)}`)
      .send(blob.content);
    return STREAMED;
  },

  async getDiff({ sql, services, principal, params, reply }) {
    await requireRun(sql, principal, params.runId);
    const patch = await findPatch(sql, params.runId);
    const blob = patch && (await services.blobs.open(patch.sha256));
    const type = "text/x-diff; charset=utf-8";
    if (blob) await reply.type(type).header("content-length", blob.size).send(blob.content);
    else await reply.type(type).send("");
    return STREAMED;
  },
};
