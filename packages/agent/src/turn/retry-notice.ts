import type { AgentEvent } from "../event.ts";
import type { Retry } from "../models/model-call.ts";

/** Describes a failed attempt at a model call. Clients then discard the text that the attempt has streamed. */
export function retryNotice({ attempt, reason, delay_ms }: Omit<Retry, "usage">): AgentEvent {
  const message = `Model call failed (attempt ${attempt}: ${reason}). Retrying in ${Math.ceil(delay_ms / 1000)} s.`;
  return { type: "notice", data: { code: "model_retry", message } };
}
