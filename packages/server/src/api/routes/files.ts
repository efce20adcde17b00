import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError, notFound } from "../../engine/api-error.ts";
import type { Blobs } from "../../engine/blobs.ts";
import type { Sql } from "../../store/connection/db.ts";
import { findPatch, uriList } from "../../store/runs/artifacts.ts";
import { matchesTag } from "../http/etag.ts";
import { type ByteRange, selectRange } from "../http/range.ts";
import { redirectDownload } from "./redirect-download.ts";

/**
 * Sends an artifact, or the requested part of it, as a download. Agents produce artifacts, so a browser must never render
 * one as a page.
 */
export async function sendArtifact(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    blobs,
    artifact,
  }: { blobs: Blobs; artifact: { sha256: string; name: string; removed_at?: string | undefined } },
): Promise<void> {
  requireNotRemoved(artifact);
  const contentType = "application/octet-stream";
  const disposition = `attachment; filename*=UTF-8''${encodeURIComponent(artifact.name)}`;
  const file = { sha256: artifact.sha256, contentType, disposition };
  if (await redirectDownload(request, reply, blobs, file)) return;
  const etag = `"${artifact.sha256}"`;
  reply.headers({ etag, "accept-ranges": "bytes" });
  if (matchesTag(request.headers["if-none-match"], etag)) return void (await reply.code(304).send());
  const blob = await blobs.open(artifact.sha256, (size) => requireRange(request, reply, { size, etag }));
  if (!blob) throw notFound("artifact");
  const { size, range } = blob;
  if (range) reply.code(206).header("content-range", `bytes ${range.start}-${range.end}/${size}`);
  await reply
    .type(contentType)
    .header("content-length", range ? range.end - range.start + 1 : size)
    .header("content-disposition", disposition)
    .send(blob.content);
}

/** Returns the requested part, or undefined for the whole file. Only GET has ranges. */
function requireRange(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  file: { size: number; etag: string },
): ByteRange | undefined {
  const range = method === "GET" ? selectRange(headers, file) : undefined;
  if (range !== "unsatisfiable") return range;
  reply.header("content-range", `bytes */${file.size}`);
  throw new ApiError("range_not_satisfiable", `The content has ${file.size} bytes.`);
}

/** Throws a specific error if retention has removed the content, so that clients can tell this from a missing file. */
function requireNotRemoved({ removed_at }: { removed_at?: string | undefined }): void {
  if (!removed_at) return;
  throw new ApiError(
    "resource_not_found",
    `The content was deleted by the retention policy on ${removed_at.slice(0, 10)}.`,
  );
}

/** Sends the URL of a pull request as a download. */
export async function sendUrl(
  reply: FastifyReply,
  { url, name }: { url: string; name: string },
): Promise<void> {
  const content = uriList(url);
  await reply
    .type("application/octet-stream")
    .header("content-length", Buffer.byteLength(content))
    .header("content-disposition", `attachment; filename*=UTF-8''${encodeURIComponent(name)}`)
    .send(content);
}

/** Sends the run's changes as a patch, which is empty if the run has not changed any file. */
export async function sendDiff(
  reply: FastifyReply,
  { sql, blobs, runId }: { sql: Sql; blobs: Blobs; runId: string },
): Promise<void> {
  const patch = await findPatch(sql, runId);
  if (patch) requireNotRemoved(patch);
  const blob = patch && (await blobs.open(patch.sha256));
  const type = "text/x-diff; charset=utf-8";
  if (blob) await reply.type(type).header("content-length", blob.size).send(blob.content);
  else await reply.type(type).send("");
}
