import { type ErrorCode, errorEntry, type Problem } from "@outrider/contract/errors/error";
import type { FieldError } from "@outrider/contract/errors/field-error";
import { StorageError } from "../../blobs/blob-storage.ts";
import { ApiError, unavailable } from "../../engine/api-error.ts";
import { outOfSpace } from "../../engine/dispatch/admission.ts";
import { isLockTimeout, isOutOfSpace, isUnreachable } from "../../store/connection/db.ts";

export interface ProblemResponse {
  status: number;
  headers: Record<string, string>;
  body: Problem;
}

const DEFAULT_RETRY_AFTER_SECONDS = 1;
const STORAGE_RETRY_SECONDS = 2;

export interface ProblemContext {
  retryAfterSeconds?: number | undefined;
  origin: string;
  path: string;
  traceId: string;
}

/** Builds an RFC 9457 problem response. */
export function createProblem(
  code: ErrorCode,
  detail: string,
  fieldErrors: FieldError[],
  { origin, path, traceId, retryAfterSeconds = DEFAULT_RETRY_AFTER_SECONDS }: ProblemContext,
): ProblemResponse {
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
      ...(fieldErrors.length ? { errors: fieldErrors } : {}),
    },
  };
}

/** Maps the errors of requests that Fastify rejects before a handler runs. */
const frameworkErrors: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ["payload_too_large", "The request body is too large for this endpoint."],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["invalid_request", "`Content-Length` does not match the body."],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["unsupported_media_type", "`Content-Type` is not a valid media type."],
  FST_ERR_MAX_PARAM_LENGTH: ["resource_not_found", "The identifier is too long."],
  FST_ERR_BAD_URL: ["invalid_request", "The URL contains invalid percent-encoding."],
  FST_ERR_ASYNC_CONSTRAINT: ["invalid_request", "The URL cannot be parsed."],
};

/** Converts an error to an ApiError. Returns undefined for an unexpected error, which indicates a bug. */
export function toApiError(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error;
  const known = frameworkErrors[(error as { code?: string } | null)?.code ?? ""];
  if (known) return new ApiError(...known);
  if (isOutOfSpace(error)) return new ApiError("resource_unavailable", outOfSpace);
  if (error instanceof StorageError)
    return unavailable("The storage of files is unavailable. Retry shortly.", STORAGE_RETRY_SECONDS);
  if (isUnreachable(error))
    return new ApiError("resource_unavailable", "The database is unreachable. Retry shortly.");
  if (isLockTimeout(error))
    return new ApiError("resource_unavailable", "Another request has locked this resource. Retry shortly.");
  return undefined;
}
