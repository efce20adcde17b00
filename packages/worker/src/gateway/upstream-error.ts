import { Failure } from "@outrider/agent/failure";
import { retriesExhausted } from "@outrider/agent/models/model-call";
import type { ProviderError } from "@outrider/agent/models/provider-errors";
import type { Format } from "./formats/format.ts";

/** Agents do not repeat a request with this status. The gateway has already repeated it as often as it is useful. */
const PERMANENT = 400;

export interface FailedAttempt {
  error: ProviderError;
  /** The provider's own response, if it sent one. */
  response?: { status: number; body: string };
}

/** The end of a model call that failed: what the agent may see, and the reason for the run. */
export class UpstreamError extends Error {
  readonly status: number;
  readonly body: string;
  readonly failure: Failure;

  constructor(failure: Failure, { status, body }: { status: number; body: string }) {
    super(failure.message);
    this.failure = failure;
    this.status = status;
    this.body = body;
  }
}

/**
 * Agents get the provider's response, because they compact a conversation that is too long. A problem of Outrider's
 * configuration is described by us, because agents would ask their user to log in.
 */
export function permanentError(format: Format, { error, response }: FailedAttempt): UpstreamError {
  const failure =
    error.type === "fatal" ? error.failure : new Failure("model_request_rejected", error.reason);
  const isOurs = failure.code === "model_not_available";
  // A redirect is not followed, because it could send the key to another host, and it is no use to the agent.
  const isError = response !== undefined && response.status >= 400;
  return new UpstreamError(failure, isOurs || !isError ? describe(format, failure) : response);
}

export function exhaustedError(
  format: Format,
  error: Extract<ProviderError, { type: "transient" }>,
  attempts: number,
): UpstreamError {
  const failure = retriesExhausted(error, attempts);
  return new UpstreamError(failure, describe(format, failure));
}

function describe(format: Format, { message }: Failure) {
  return { status: PERMANENT, body: JSON.stringify(format.errorBody(PERMANENT, message)) };
}
