import { pipeline, type Readable } from "node:stream";
import { promisify } from "node:util";
import { createGzip, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { addVary } from "./vary.ts";

/** Smaller bodies fit into one packet anyway. */
const MIN_BYTES = 1_024;

const compress = promisify(gzip);

export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return String(acceptEncoding ?? "")
    .split(",")
    .some((coding) => /^\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$).*)?$/i.test(coding));
}

/**
 * Returns the body, compressed if the client accepts that, and sets the headers for it.
 *
 * Never use this for a body that contains a secret: together with text that an attacker chooses, the size of the
 * compressed body would reveal the secret (BREACH).
 */
export async function compressBody(
  request: FastifyRequest,
  reply: FastifyReply,
  body: string,
): Promise<string | Buffer> {
  addVary(reply, "accept-encoding");
  if (!acceptsGzip(request.headers["accept-encoding"]) || Buffer.byteLength(body) < MIN_BYTES) return body;
  reply.header("content-encoding", "gzip");
  return compress(body);
}

/** Like `compressBody`, for a body that is sent while it is being read. Not for event streams, which must not wait. */
export function compressStream(request: FastifyRequest, reply: FastifyReply, body: Readable): Readable {
  addVary(reply, "accept-encoding");
  if (!acceptsGzip(request.headers["accept-encoding"])) return body;
  reply.header("content-encoding", "gzip");
  // An error of either stream destroys the other, and Fastify then closes the connection.
  return pipeline(body, createGzip(), () => {});
}
