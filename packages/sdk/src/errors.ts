import type { ErrorCode, Error as Problem, Publication, RunItem } from "./generated/models.ts";

/** Base class of all errors in this package. */
export class OutriderError extends Error {
  // Names are explicit, because minifiers rename classes, and logs and error handlers rely on the names.
  override name = "OutriderError";
}

/** A call failed. */
export class APIError extends OutriderError {
  override name = "APIError";
}

/** The server is unreachable, or the connection was lost before the response was complete. */
export class APIConnectionError extends APIError {
  override name = "APIConnectionError";
}

/** An attempt took longer than `timeout`. */
export class APITimeoutError extends APIConnectionError {
  override name = "APITimeoutError";
}

/** The caller's signal aborted the call. */
export class APIUserAbortError extends APIError {
  override name = "APIUserAbortError";
}

/** `runs.wait` or `publications.wait` took longer than its `timeout`. The run or publication continues. */
export class WaitTimeoutError extends OutriderError {
  override name = "WaitTimeoutError";
  /** The last known run, for `runs.wait`. */
  readonly run: RunItem | undefined;
  /** The last known publication, for `publications.wait`. */
  readonly publication: Publication | undefined;

  constructor(message: string, { run, publication }: { run?: RunItem; publication?: Publication }) {
    super(message);
    this.run = run;
    this.publication = publication;
  }
}

/** The server returned a status of 400 or higher. Common statuses have their own subclass. */
export class APIStatusError extends APIError {
  override name = "APIStatusError";
  readonly status: number;
  readonly headers: Headers;
  /** The problem details from the server, or text if a proxy sent the response. */
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

  /** The invalid fields of the request. */
  get errors(): Problem["errors"] {
    return this.#problem?.errors;
  }

  /** Identifies the request in the server log. */
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

const classByStatus: Record<number, typeof APIStatusError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  422: UnprocessableEntityError,
  429: RateLimitError,
};

export function statusError(status: number, headers: Headers, text: string): APIStatusError {
  const Class = classByStatus[status] ?? (status >= 500 ? InternalServerError : APIStatusError);
  return new Class(status, headers, parseProblem(text) ?? text);
}

function parseProblem(text: string): Problem | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Problem) : undefined;
  } catch {
    return undefined;
  }
}

function messageOf(status: number, body: Problem | string): string {
  if (typeof body === "string") return `${status}: ${body.trim().slice(0, 200) || "empty response"}`;
  const { error_code: code, detail, message, errors = [] } = body;
  const fields = errors.map((field) => `${field.pointer} ${field.message}`).join("; ");
  const text = detail ?? message ?? JSON.stringify(body).slice(0, 200);
  return `${[status, code].filter(Boolean).join(" ")}: ${text}${fields ? ` (${fields})` : ""}`;
}
