/** `forbidden`: the address must not be called. `invalid`: the response cannot be used. */
export type OutboundErrorCode = "forbidden" | "invalid" | "unreachable";

/** A request without a usable response. The message is a sentence for people. It contains no credential. */
export class OutboundError extends Error {
  override name = "OutboundError";
  readonly code: OutboundErrorCode;

  constructor(code: OutboundErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.code = code;
  }
}
