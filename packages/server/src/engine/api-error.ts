import type { ErrorCode } from "@outrider/contract/errors/error";
import type { FieldError } from "@outrider/contract/errors/field-error";

/**
 * Rejects a request with one of the API contract's error codes. Throwing it inside a transaction rolls the transaction
 * back.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly fieldErrors: FieldError[];
  /** Set if the request may succeed when it is retried after this many seconds. */
  retryAfterSeconds?: number;

  constructor(code: ErrorCode, detail: string, fieldErrors: FieldError[] = []) {
    super(detail);
    this.code = code;
    this.fieldErrors = fieldErrors;
  }
}

export function notFound(what: string): ApiError {
  return new ApiError("resource_not_found", `No ${what} with this ID exists.`);
}

/** Creates an error for one request field, identified by a JSON pointer. */
export function invalidField(
  pointer: string,
  message: string,
  code: ErrorCode = "invalid_request",
): ApiError {
  return new ApiError(code, `\`${pointer}\` ${message}.`, [{ pointer, message }]);
}

/** Creates an error for a caller that exceeded a limit. */
export function tooMany(detail: string, seconds: number): ApiError {
  return retryLater("rate_limited", detail, seconds);
}

/** Creates an error for a temporary condition that the caller did not cause. */
export function unavailable(detail: string, seconds: number): ApiError {
  return retryLater("resource_unavailable", detail, seconds);
}

function retryLater(
  code: "rate_limited" | "resource_unavailable",
  detail: string,
  seconds: number,
): ApiError {
  const error = new ApiError(code, detail);
  error.retryAfterSeconds = seconds;
  return error;
}
