import type { ErrorCode } from "@outrider/contract/errors/error";
import type { TurnOutcome } from "@outrider/contract/worker";

/** An error that ends the turn with a code from the API's error table. */
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

/** Returns the outcome of a turn that ends with this failure. */
export function failedOutcome({ code, message }: Failure): TurnOutcome {
  return { type: "failed", error_code: code, message };
}
