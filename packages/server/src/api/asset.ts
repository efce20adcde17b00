import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";

/** A file of the pages. Its address holds a hash of the content, so a browser may keep it for good. */
export interface Asset {
  address: string;
  type: string;
  content: Buffer;
  /** The content for browsers that take gzip, compressed when the first of them asks. */
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

export function asset(address: string, content: Buffer): Asset {
  const extension = address.split(".").at(-1) as string;
  const type = types[extension];
  if (!type) throw new Error(`${address}: api/asset.ts does not know the media type of .${extension}`);
  let compressed: Promise<Buffer> | undefined;
  return {
    address,
    type,
    content,
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
    vary: "accept-encoding",
    ...headers,
  });
  if (!acceptsGzip(request.headers["accept-encoding"])) return reply.send(asset.content);
  return reply.header("content-encoding", "gzip").send(await asset.gzipped());
}

export const forGood = { "cache-control": "public, max-age=31536000, immutable" };

export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return String(acceptEncoding ?? "")
    .split(",")
    .some((coding) => /^\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$).*)?$/i.test(coding));
}
