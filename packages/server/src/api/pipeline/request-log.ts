import { randomFillSync } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { parseTraceparent } from "@outrider/telemetry/trace-context";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { Principal } from "../../engine/auth/principal.ts";

/**
 * Returns the trace ID from the caller's `traceparent` header, or a new one. It appears in response headers, problem
 * documents and log lines. If traces are exported, it is the ID of the request's trace.
 */
export function traceIdOf(request: IncomingMessage): string {
  return parseTraceparent(String(request.headers.traceparent ?? ""))?.traceId ?? createTraceId();
}

const TRACE_ID_BYTES = 16;
/** Bytes for many IDs. Asking the random generator for those of one ID takes longer than the rest of a short request. */
const randomPool = Buffer.alloc(256 * TRACE_ID_BYTES);
let usedBytes = randomPool.length;

export function createTraceId(): string {
  if (usedBytes === randomPool.length) {
    randomFillSync(randomPool);
    usedBytes = 0;
  }
  const start = usedBytes;
  usedBytes += TRACE_ID_BYTES;
  return randomPool.toString("hex", start, usedBytes);
}

/** Returns the name of the request's operation, for logs and metrics. */
export function operationOf(request: FastifyRequest): string {
  const { operation = "other" } = request.routeOptions.config as { operation?: string };
  return operation;
}

/** Logs a completed request. */
export function logRequest(
  log: Logger,
  {
    request,
    reply,
    principal,
  }: { request: FastifyRequest; reply: FastifyReply; principal?: Principal | undefined },
) {
  const operation = operationOf(request);
  const line = {
    trace_id: request.id,
    operation,
    method: request.method,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    key_id: principal?.key?.key_id,
    session_id: principal?.session?.session_id,
    address: request.ip,
  };
  // Workers and open pages poll constantly. Their successful requests would bury everything else in the log.
  const isPolling = operation.startsWith("worker.") || operation === "getInstallation";
  if (isPolling && reply.statusCode < 400) log.debug(line, "request completed");
  else log.info(line, "request completed");
}
