import { type ErrorCode, errorEntry, type Problem } from "@outrider/contract/error";
import type { Fault } from "@outrider/contract/fault";
import { outOfSpace } from "../engine/intake.ts";
import { Refusal } from "../engine/refusal.ts";
import { isLockTimeout, isOutOfSpace, isUnreachable } from "../store/db.ts";

export interface ProblemAnswer {
  status: number;
  headers: Record<string, string>;
  body: Problem;
}

const RETRY_AFTER_SECONDS = 1;

export interface Occurrence {
  /** Where it is known; a second otherwise. */
  retryAfterSeconds?: number | undefined;
  origin: string;
  path: string;
  traceId: string;
}

export function problem(
  code: ErrorCode,
  detail: string,
  faults: Fault[],
  { origin, path, traceId, retryAfterSeconds = RETRY_AFTER_SECONDS }: Occurrence,
): ProblemAnswer {
  const { status = 500, title, retryable } = errorEntry(code);
  const headers: Record<string, string> = {
    "content-type": "application/problem+json",
    "x-should-retry": String(retryable),
  };
  if (status === 401) headers["www-authenticate"] = "Bearer";
  if (status === 503 || status === 429) headers["retry-after"] = String(retryAfterSeconds);
  return {
    status,
    headers,
    body: {
      type: `${origin}/docs/errors/${code}`,
      title,
      status,
      detail,
      instance: path,
      error_code: code,
      message: detail,
      retryable,
      trace_id: traceId,
      ...(faults.length ? { errors: faults } : {}),
    },
  };
}

/** What Fastify refuses before a handler sees it, by the framework's own codes. */
const frameworkErrors: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ["payload_too_large", "The body is larger than this call takes."],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["invalid_request", "Content-Length does not fit the body."],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["unsupported_media_type", "Content-Type is not a media type."],
  FST_ERR_MAX_PARAM_LENGTH: ["resource_not_found", "No identifier is as long as this."],
  FST_ERR_BAD_URL: ["invalid_request", "The address holds an invalid escape."],
  FST_ERR_ASYNC_CONSTRAINT: ["invalid_request", "The address cannot be read."],
};

/** The refusal that an error stands for; undefined for what nobody foresaw. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  const known = frameworkErrors[(error as { code?: string } | null)?.code ?? ""];
  if (known) return new Refusal(...known);
  if (isOutOfSpace(error)) return new Refusal("resource_unavailable", outOfSpace);
  if (isUnreachable(error)) return new Refusal("resource_unavailable", "The database cannot be reached now.");
  if (isLockTimeout(error))
    return new Refusal("resource_unavailable", "Another request holds this resource.");
  return undefined;
}
