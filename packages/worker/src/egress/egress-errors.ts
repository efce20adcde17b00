import type { RefusalReason } from "./policy.ts";

/** Thrown when the policy does not allow the target. */
export class RefusedError extends Error {
  override name = "RefusedError";
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason) {
    super(reason.reason);
    this.reason = reason;
  }
}

/** Thrown when the target is allowed but cannot be reached. */
export class UnreachableError extends Error {
  override name = "UnreachableError";
  readonly status: 502 | 504;

  constructor(status: 502 | 504, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
