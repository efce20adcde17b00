import type { FastifyReply, FastifyRequest } from "fastify";
import type { DownloadedFile } from "../../blobs/blob-storage.ts";
import type { Blobs } from "../../engine/blobs.ts";
import { selectRange } from "../http/range.ts";
import { wantsPage } from "../pages/web.ts";

/**
 * Redirects to a signed URL of the bucket, if users can reach the bucket, the file is large and the client can follow. The
 * caller has checked that the user may read the file. Returns whether the request is answered.
 */
export async function redirectDownload(
  request: FastifyRequest,
  reply: FastifyReply,
  blobs: Blobs,
  { sha256, ...file }: { sha256: string } & DownloadedFile,
): Promise<boolean> {
  if (!canFollow(request)) return false;
  const download = await blobs.userDownload(sha256, file);
  if (!download || wouldReceiveCookie(request, download.url)) return false;
  // Servers disagree about ranges that are not satisfiable or have another form.
  const { range } = request.headers;
  const selected = selectRange({ range }, { size: download.size, etag: "" });
  if (range !== undefined && typeof selected !== "object") return false;
  await reply.header("cache-control", "no-store").redirect(download.url, 307);
  return true;
}

/** Browsers send cookies to every port of a host, so a bucket on our own host would get the session. */
function wouldReceiveCookie({ headers, hostname }: FastifyRequest, url: string): boolean {
  return headers.authorization === undefined && new URL(url).hostname === hostname;
}

/**
 * The URL is signed for GET. The bucket has other ETags than we do, so it cannot answer conditional requests. Scripts in
 * browsers cannot read another origin, unlike links.
 */
function canFollow(request: FastifyRequest): boolean {
  const { method, headers } = request;
  if (method !== "GET" || Object.keys(headers).some((name) => name.startsWith("if-"))) return false;
  // Programs such as Node also send Sec-Fetch-Mode, but only browsers send Sec-Fetch-Site.
  if (headers["sec-fetch-site"]) return headers["sec-fetch-mode"] === "navigate";
  return headers.authorization === undefined ? wantsPage(request) : headers.origin === undefined;
}
