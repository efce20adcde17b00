import type { FastifyReply } from "fastify";
import type { Blobs } from "../engine/blobs.ts";
import { notFound } from "../engine/refusal.ts";
import { findPatch } from "../store/artifacts.ts";
import type { Sql } from "../store/db.ts";

/** Whatever an agent left is a download, never a page. */
export async function sendArtifact(
  reply: FastifyReply,
  { blobs, artifact }: { blobs: Blobs; artifact: { sha256: string; name: string } },
): Promise<void> {
  const blob = await blobs.open(artifact.sha256);
  if (!blob) throw notFound("artifact");
  await reply
    .type("application/octet-stream")
    .header("content-length", blob.size)
    .header("content-disposition", `attachment; filename*=UTF-8''${encodeURIComponent(artifact.name)}`)
    .send(blob.content);
}

/** What the run has changed; empty where nothing has. */
export async function sendDiff(
  reply: FastifyReply,
  { sql, blobs, runId }: { sql: Sql; blobs: Blobs; runId: string },
): Promise<void> {
  const patch = await findPatch(sql, runId);
  const blob = patch && (await blobs.open(patch.sha256));
  const type = "text/x-diff; charset=utf-8";
  if (blob) await reply.type(type).header("content-length", blob.size).send(blob.content);
  else await reply.type(type).send("");
}
