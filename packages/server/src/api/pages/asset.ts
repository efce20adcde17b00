import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { acceptsGzip } from "../http/compression.ts";
import { matchesTag, weakTag } from "../http/etag.ts";
import { addVary } from "../http/vary.ts";

/** A static file, with its content in memory. */
export interface Asset {
  address: string;
  type: string;
  content: Buffer;
  etag: string;
  /** Returns the gzipped content, which is compressed on the first request. */
  gzipped(): Promise<Buffer>;
}

const types: Record<string, string> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  svg: "image/svg+xml",
};

const compress = promisify(gzip);

export function createAsset(address: string, content: Buffer): Asset {
  const extension = address.split(".").at(-1) as string;
  const type = types[extension];
  if (!type)
    throw new Error(`${address}: the media type of .${extension} is missing from api/pages/asset.ts`);
  let compressed: Promise<Buffer> | undefined;
  return {
    address,
    type,
    content,
    etag: weakTag(content),
    gzipped() {
      compressed ??= compress(content, { level: 9 });
      return compressed;
    },
  };
}

export async function sendAsset(
  request: FastifyRequest,
  reply: FastifyReply,
  { asset, headers }: { asset: Asset; headers: Record<string, string> },
) {
  reply.headers({
    "content-type": asset.type,
    "x-content-type-options": "nosniff",
    etag: asset.etag,
    ...headers,
  });
  addVary(reply, "accept-encoding");
  if (matchesTag(request.headers["if-none-match"], asset.etag))
    return reply.removeHeader("content-type").code(304).send();
  if (!acceptsGzip(request.headers["accept-encoding"])) return reply.send(asset.content);
  return reply.header("content-encoding", "gzip").send(await asset.gzipped());
}

export const immutableHeaders = { "cache-control": "public, max-age=31536000, immutable" };
