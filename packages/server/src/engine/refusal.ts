import type { ErrorCode } from "@outrider/contract/error";
import type { Fault } from "@outrider/contract/fault";

/** A call that is refused, by a code of the contract's table. It undoes the transaction that it ends. */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly faults: Fault[];
  /** Where it is known when trying again may help. */
  retryAfterSeconds?: number;

  constructor(code: ErrorCode, detail: string, faults: Fault[] = []) {
    super(detail);
    this.code = code;
    this.faults = faults;
  }
}

export function notFound(what: string): Refusal {
  return new Refusal("resource_not_found", `There is no ${what} with this identifier.`);
}

/** A refusal of one member, which the detail and the pointer both name. */
export function badMember(pointer: string, message: string, code: ErrorCode = "invalid_request"): Refusal {
  return new Refusal(code, `\`${pointer}\` ${message}.`, [{ pointer, message }]);
}

/** A caller who must wait before the next try. */
export function tooMany(detail: string, seconds: number): Refusal {
  return forLater("rate_limited", detail, seconds);
}

/** A caller who did nothing wrong, and is served after a while. */
export function unavailable(detail: string, seconds: number): Refusal {
  return forLater("resource_unavailable", detail, seconds);
}

function forLater(code: "rate_limited" | "resource_unavailable", detail: string, seconds: number): Refusal {
  const refusal = new Refusal(code, detail);
  refusal.retryAfterSeconds = seconds;
  return refusal;
}
