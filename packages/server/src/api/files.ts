import type { FastifyReply } from "fastify";
import type { Blobs } from "../engine/blobs.ts";
import { notFound, Refusal } from "../engine/refusal.ts";
import { findPatch } from "../store/artifacts.ts";
import type { Sql } from "../store/db.ts";

/** Whatever an agent left is a download, never a page. */
export async function sendArtifact(
  reply: FastifyReply,
  {
    blobs,
    artifact,
  }: { blobs: Blobs; artifact: { sha256: string; name: string; removed_at?: string | undefined } },
): Promise<void> {
  requireKept(artifact);
  const blob = await blobs.open(artifact.sha256);
  if (!blob) throw notFound("artifact");
  await reply
    .type("application/octet-stream")
    .header("content-length", blob.size)
    .header("content-disposition", `attachment; filename*=UTF-8''${encodeURIComponent(artifact.name)}`)
    .send(blob.content);
}

/** What retention has taken is not passed off as empty, or as never there. */
function requireKept({ removed_at }: { removed_at?: string | undefined }): void {
  if (!removed_at) return;
  throw new Refusal(
    "resource_not_found",
    `The content was removed by this installation's retention on ${removed_at.slice(0, 10)}.`,
  );
}

/** What the run has changed; empty where nothing has. */
export async function sendDiff(
  reply: FastifyReply,
  { sql, blobs, runId }: { sql: Sql; blobs: Blobs; runId: string },
): Promise<void> {
  const patch = await findPatch(sql, runId);
  if (patch) requireKept(patch);
  const blob = patch && (await blobs.open(patch.sha256));
  const type = "text/x-diff; charset=utf-8";
  if (blob) await reply.type(type).header("content-length", blob.size).send(blob.content);
  else await reply.type(type).send("");
}
