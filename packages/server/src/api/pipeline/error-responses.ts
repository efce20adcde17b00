import type { Socket } from "node:net";
import { limits } from "@outrider/contract/limits";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { ApiError } from "../../engine/api-error.ts";
import { lingerAndClose } from "../http/body-timeout.ts";
import { commonHeaders } from "../http/headers.ts";
import { createProblem, toApiError } from "../http/problem.ts";
import { pathOf, redactedPathOf } from "../http/request.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Services } from "./call.ts";
import { createTraceId } from "./request-log.ts";
import { type HttpResponse, sendResponse } from "./response.ts";

interface Options {
  services: Pick<Services, "admission" | "origin">;
  metrics: Pick<Metrics, "errorSent">;
  sendsHsts: boolean;
  /** Returns the methods of the routes that match a path. */
  methodsOf(path: string): string[];
  log: Logger;
}

export interface ErrorResponses {
  /** Converts an error to a problem response, counts it, and logs it if it is unexpected. */
  responseTo(error: unknown, request: FastifyRequest): HttpResponse;
  send(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply;
  /** Sends 404, or 405 with the allowed methods if the path exists for other methods. */
  sendNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply;
  /** Responds to bytes that are not an HTTP request. Writes to the socket, because there is no reply object. */
  sendToSocket(error: { code?: string }, socket: Socket): void;
}

export function createErrorResponses({
  services,
  metrics,
  sendsHsts,
  methodsOf,
  log,
}: Options): ErrorResponses {
  function responseTo(error: unknown, request: FastifyRequest): HttpResponse {
    services.admission.noteError(error);
    const known = toApiError(error);
    if (!known) log.error({ trace_id: request.id, error }, "request failed");
    const { code, message, fieldErrors, retryAfterSeconds } =
      known ?? new ApiError("internal_error", "An unexpected error occurred.");
    metrics.errorSent(code);
    const { status, headers, body } = createProblem(code, message, fieldErrors, {
      origin: services.origin(),
      path: redactedPathOf(request),
      traceId: request.id,
      retryAfterSeconds,
    });
    return { status, headers, body: JSON.stringify(body) };
  }

  function send(error: unknown, request: FastifyRequest, reply: FastifyReply) {
    // Requests that Fastify itself rejects do not reach the hook that sets these headers.
    const withHeaders = reply.headers(commonHeaders(request.id, sendsHsts));
    return sendResponse(withHeaders, responseTo(error, request));
  }

  return {
    responseTo,
    send,
    sendNotFound(request, reply) {
      const methods = methodsOf(pathOf(request));
      if (methods.length === 0 || methods.includes(request.method))
        return send(new ApiError("resource_not_found", "Route not found."), request, reply);
      const allow = methods.join(", ");
      const error = new ApiError("method_not_allowed", `This path supports ${allow}.`);
      return send(error, request, reply.header("allow", allow));
    },
    sendToSocket(error, socket) {
      if (socket.destroyed || error.code === "ECONNRESET") return;
      // After a failed handshake, the client cannot read a response.
      if (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(error.code ?? "")) return void socket.destroy();
      const detail = parserErrors[error.code ?? ""] ?? "This is not a valid HTTP request.";
      const traceId = createTraceId();
      metrics.errorSent("invalid_request");
      const context = { origin: services.origin(), path: "", traceId };
      const { headers, body } = createProblem("invalid_request", detail, [], context);
      const text = JSON.stringify(body);
      const lines = Object.entries({
        ...commonHeaders(traceId, sendsHsts),
        ...headers,
        "content-length": Buffer.byteLength(text),
        connection: "close",
      });
      const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
      socket.write(`HTTP/1.1 400 Bad Request\r\n${head}\r\n${text}`);
      // Node would leave this connection open until the client closes it.
      lingerAndClose(socket);
    },
  };
}

/** Problem details for the error codes of Node's HTTP parser. */
const parserErrors: Record<string, string> = {
  HPE_HEADER_OVERFLOW: `The headers are larger than ${limits.header} bytes.`,
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time.",
};
