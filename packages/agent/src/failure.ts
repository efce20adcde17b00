import type { ErrorCode } from "@outrider/contract/error";
import type { TurnOutcome } from "@outrider/contract/worker";

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

/** What a model call that was given up means for the run. */
export function failedCall({ code, message }: Failure): TurnOutcome {
  return { type: "failed", error_code: code, message };
}
