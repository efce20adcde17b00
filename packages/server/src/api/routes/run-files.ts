import { posix } from "node:path";
import type { FastifyReply } from "fastify";
import { unavailable } from "../../engine/api-error.ts";
import { listRunFiles, readRunFile } from "../../engine/files/file-requests.ts";
import { requireRun } from "../../engine/runs/runs.ts";
import { type Handlers, ok, STREAMED } from "../pipeline/call.ts";

/** Aborts when the client disconnects or the server stops. */
function abandoned(reply: FastifyReply, stopping: AbortSignal): AbortSignal {
  const disconnected = new AbortController();
  reply.raw.once("close", () => disconnected.abort());
  return AbortSignal.any([stopping, disconnected.signal]);
}

export const runFileHandlers: Pick<Handlers, "listRunFiles" | "readRunFile"> = {
  async listRunFiles({ sql, services, principal, params, query, reply }) {
    await requireRun(sql, principal, params.runId);
    const request = { runId: params.runId, userUid: principal.userUid, path: query.path };
    return ok(await listRunFiles(services, request, abandoned(reply, services.stopping)));
  },

  /** Agents write these files, so a browser must never render one as a page. */
  async readRunFile({ sql, services, principal, params, query, reply }) {
    await requireRun(sql, principal, params.runId);
    const request = { runId: params.runId, userUid: principal.userUid, path: query.path };
    const file = await readRunFile(services, request, abandoned(reply, services.stopping));
    const blob = await services.blobs.open(file.sha256);
    if (!blob) throw unavailable("The content of the file is missing. Try again in a moment.", 2);
    await reply
      .type("application/octet-stream")
      .header("content-length", blob.size)
      .header("cache-control", "no-store")
      .header(
        "content-disposition",
        `attachment; filename*=UTF-8''${encodeURIComponent(posix.basename(file.path).toWellFormed())}`,
      )
      .send(blob.content);
    return STREAMED;
  },
};
