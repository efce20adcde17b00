import type { FastifyReply } from "fastify";
import type { Result } from "./call.ts";

/** A complete response, ready to be sent or to be stored for an idempotent replay. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  body?: string;
  /** The body for replays. Set if the first response contains something that is shown only once, such as a new key. */
  replayBody?: string;
}

export function toResponse({ status, headers = {}, body, replayBody }: Result): HttpResponse {
  return {
    status,
    headers: {
      ...headers,
      ...(body === undefined ? {} : { "content-type": "application/json; charset=utf-8" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(replayBody === undefined ? {} : { replayBody: JSON.stringify(replayBody) }),
  };
}

export function sendResponse(reply: FastifyReply, { status, headers, body }: HttpResponse) {
  return reply.code(status).headers(headers).send(body);
}
