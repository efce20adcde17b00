import type { CallTokens } from "@outrider/agent/turn/usage";
import type { Format } from "./formats/format.ts";
import type { MeteredCall } from "./turn-meter.ts";

export interface SourceRequest {
  format: Format;
  /** The path of the agent's request. */
  requestPath: string;
  /** The path below the provider's base URL. */
  path: string;
  headers: Record<string, string>;
  body: object;
  /** The body as it is sent. */
  json: string;
  signal: AbortSignal;
  onRetry: MeteredCall["retry"];
}

export interface SourceResponse {
  status: number;
  headers: Record<string, string>;
  /** It must be read, or the request's signal aborted. */
  body: AsyncIterable<Uint8Array>;
  /** The call's tokens, if the response need not be searched for them. Resolves when the body has been read. */
  tokens?: Promise<CallTokens>;
}

/** Where the answers of a model come from: its provider, or a script. */
export interface ModelSource {
  /** Rejects with an UpstreamError if the call failed. */
  call(request: SourceRequest): Promise<SourceResponse>;
}
