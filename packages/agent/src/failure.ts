import type { ErrorCode } from "@outrider/contract/error";
import type { TurnOutcome } from "@outrider/contract/worker";
import { APICallError } from "ai";

/** An error that ends the turn, under a code of the error table. */
export class Failure extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
    this.code = code;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What a failed model call means for the run. */
export function failedCall(error: unknown): TurnOutcome {
  return { type: "failed", error_code: codeOf(error), message: messageOf(error) };
}

function codeOf(error: unknown): ErrorCode {
  if (error instanceof Failure) return error.code;
  return APICallError.isInstance(error) && error.statusCode === 429 ? "model_rate_limited" : "model_error";
}
