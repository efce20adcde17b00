import type { Reason } from "./policy.ts";

/** The target is not for this sandbox. */
export class RefusedError extends Error {
  override name = "RefusedError";
  readonly reason: Reason;

  constructor(reason: Reason) {
    super(reason.reason);
    this.reason = reason;
  }
}

/** The target may be reached, and was not. */
export class UnreachableError extends Error {
  override name = "UnreachableError";
  readonly status: 502 | 504;

  constructor(status: 502 | 504, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
