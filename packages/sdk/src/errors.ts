import type { ErrorCode, Error as Problem, RunItem } from "./generated/models.ts";

/** Everything that this package throws on its own account. */
export class OutriderError extends Error {
  // Names are written out: who makes code smaller renames classes, but must not rename what logs and handlers look for.
  override name = "OutriderError";
}

/** A call that did not succeed. */
export class APIError extends OutriderError {
  override name = "APIError";
}

/** The service was not reached, or the connection broke before its answer was complete. */
export class APIConnectionError extends APIError {
  override name = "APIConnectionError";
}

/** An attempt took longer than `timeout`. */
export class APITimeoutError extends APIConnectionError {
  override name = "APITimeoutError";
}

/** The caller's signal ended the call. */
export class APIUserAbortError extends APIError {
  override name = "APIUserAbortError";
}

/** `runs.wait` waited as long as it was told to; the run goes on. */
export class WaitTimeoutError extends OutriderError {
  override name = "WaitTimeoutError";
  /** As last seen. */
  readonly run: RunItem;

  constructor(message: string, run: RunItem) {
    super(message);
    this.run = run;
  }
}

/** The service answered with a status of 400 or more. Frequent ones have a class of their own. */
export class APIStatusError extends APIError {
  override name = "APIStatusError";
  readonly status: number;
  readonly headers: Headers;
  /** The problem as the service told it; text where something before the service answered. */
  readonly body: Problem | string;

  constructor(status: number, headers: Headers, body: Problem | string) {
    super(messageOf(status, body));
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  get code(): ErrorCode | undefined {
    return this.#problem?.error_code;
  }

  /** Which members of the request are wrong, and how. */
  get errors(): Problem["errors"] {
    return this.#problem?.errors;
  }

  /** Finds the request in the service's log. */
  get traceId(): string | undefined {
    return this.#problem?.trace_id;
  }

  get retryable(): boolean | undefined {
    return this.#problem?.retryable;
  }

  get #problem(): Problem | undefined {
    return typeof this.body === "string" ? undefined : this.body;
  }
}

export class BadRequestError extends APIStatusError {
  override name = "BadRequestError";
}

export class AuthenticationError extends APIStatusError {
  override name = "AuthenticationError";
}

export class PermissionDeniedError extends APIStatusError {
  override name = "PermissionDeniedError";
}

export class NotFoundError extends APIStatusError {
  override name = "NotFoundError";
}

export class ConflictError extends APIStatusError {
  override name = "ConflictError";
}

export class UnprocessableEntityError extends APIStatusError {
  override name = "UnprocessableEntityError";
}

export class RateLimitError extends APIStatusError {
  override name = "RateLimitError";
}

export class InternalServerError extends APIStatusError {
  override name = "InternalServerError";
}

const byStatus: Record<number, typeof APIStatusError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  422: UnprocessableEntityError,
  429: RateLimitError,
};

export function statusError(status: number, headers: Headers, text: string): APIStatusError {
  const Class = byStatus[status] ?? (status >= 500 ? InternalServerError : APIStatusError);
  return new Class(status, headers, problemIn(text) ?? text);
}

function problemIn(text: string): Problem | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Problem) : undefined;
  } catch {
    return undefined;
  }
}

function messageOf(status: number, body: Problem | string): string {
  if (typeof body === "string") return `${status}: ${body.trim().slice(0, 200) || "no further words"}`;
  const { error_code: code, detail, message, errors = [] } = body;
  const members = errors.map((each) => `${each.pointer} ${each.message}`).join("; ");
  const words = detail ?? message ?? JSON.stringify(body).slice(0, 200);
  return `${[status, code].filter(Boolean).join(" ")}: ${words}${members ? ` (${members})` : ""}`;
}
