import type { Failure } from "@outrider/agent/failure";
import type { TurnOutcome } from "@outrider/contract/worker";

export function failedOutcome({ code, message }: Failure): TurnOutcome {
  return { type: "failed", error_code: code, message };
}
