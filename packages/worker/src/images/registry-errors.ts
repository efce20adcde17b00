/** How requests to a registry fail, and which of these failures often pass. */
import { RefusedError } from "../egress/egress-errors.ts";
import { ImageError } from "./image-error.ts";

/** The registry responded with an error that has no other meaning. */
export class StatusError extends ImageError {
  readonly status: number;

  constructor(registry: string, status: number) {
    const remedy = status === 429 ? "Try again later, or use credentials." : "Try again later.";
    super("unreachable", `The registry ${registry} responded with status ${status}.`, remedy);
    this.status = status;
  }
}

/** Rate limits, server errors and broken connections often pass. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof StatusError) return error.status === 429 || error.status >= 500;
  return ["ECONNRESET", "EPIPE"].includes(codeOf(error));
}

/** Returns whether a download that failed in this way may succeed if it is repeated. */
export function isWorthRetrying(error: unknown): boolean {
  if (!(error instanceof ImageError)) return isConnectionError(error);
  // A request with an error status has already been repeated.
  return (
    error.code === "unreachable" &&
    !(error instanceof StatusError) &&
    !(causeOf(error) instanceof RefusedError)
  );
}

/** Other errors, such as a full disk, come from this machine. */
function isConnectionError(error: unknown): boolean {
  return /^(ECONN|EPIPE|ETIMEDOUT|ERR_SSL|ERR_STREAM|HPE_)/.test(codeOf(error));
}

export function causeOf(error: unknown): unknown {
  const { cause } = error as Error;
  return cause instanceof Error ? causeOf(cause) : error;
}

export function codeOf(error: unknown): string {
  return (causeOf(error) as NodeJS.ErrnoException).code ?? "";
}
