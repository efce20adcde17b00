import type { FastifyReply, FastifyRequest } from "fastify";
import { compressBody } from "../http/compression.ts";
import { matchesTag, weakTag } from "../http/etag.ts";
import { addVary } from "../http/vary.ts";
import type { Operation } from "./operations.ts";
import { type HttpResponse, sendResponse } from "./response.ts";

/**
 * Sends the response of an operation: compressed if the client accepts that, and without a body if the client already
 * has it (`If-None-Match`).
 *
 * Two kinds of responses are always sent as they are, because they contain secrets next to text that others choose:
 * those that show something only once, such as a new key, and those for workers.
 */
export async function sendNegotiated(
  { route }: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  response: HttpResponse,
): Promise<FastifyReply> {
  const { status, headers, body, replayBody } = response;
  if (body === undefined || replayBody !== undefined || route.scope === "worker")
    return sendResponse(reply, response);
  if (route.method === "GET" && status === 200) {
    const etag = weakTag(body);
    reply.header("etag", etag);
    if (matchesTag(request.headers["if-none-match"], etag)) {
      // A 304 repeats the headers by which caches select the stored response (RFC 9110, 15.4.5).
      addVary(reply, "accept-encoding");
      return sendResponse(reply, { status: 304, headers: {} });
    }
  }
  const content = await compressBody(request, reply, body);
  return reply.code(status).headers(headers).send(content);
}
