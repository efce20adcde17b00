import type { ReasoningEffort } from "@outrider/contract/agent-config";
import type { AssignedModel } from "@outrider/contract/worker";
import { outgoingTraceHeaders } from "@outrider/telemetry/spans";
import { defaultSettingsMiddleware, type LanguageModelMiddleware, wrapLanguageModel } from "ai";
import type { CallOptions, ProviderModel } from "../provider.ts";
import { baseUrlOf } from "./base-url.ts";
import { boundResponse } from "./bounded-response.ts";

/** Options for opening a model, in addition to its configuration. */
export interface OpenOptions {
  /** The run's id. Calls with the same key share the provider's prompt cache. */
  cacheKey?: string | undefined;
  /** How much the model reasons. If absent, the provider decides. */
  reasoningEffort?: ReasoningEffort | undefined;
  /** Replaces Node's `fetch`, for example to check the addresses that it connects to. */
  send?: Send | undefined;
}

/** The maximum number of bytes to read from an error response. */
const MAX_ERROR_BYTES = 64 * 1024;
/**
 * Shorter header values are not masked, because they may be common words, and masking those would garble the message.
 */
const MIN_SECRET_LENGTH = 8;

/**
 * Returns the client's settings. Every field is set, because the AI SDK reads absent ones from the worker's environment
 * variables.
 */
export function clientSettings(work: AssignedModel, { send }: OpenOptions = {}) {
  return {
    baseURL: baseUrlOf(work),
    apiKey: work.api_key ?? "",
    headers: work.headers ?? {},
    fetch: secureFetch(work, { send }),
  };
}

export function withSettings(
  model: ProviderModel,
  { max_output_tokens: maxOutputTokens }: AssignedModel,
  { reasoningEffort: reasoning }: OpenOptions,
  {
    providerOptions = {},
    middleware = [],
  }: {
    providerOptions?: CallOptions["providerOptions"] & {};
    middleware?: LanguageModelMiddleware[];
  } = {},
): ProviderModel {
  // The AI SDK knows which settings each model has, such as a thinking budget, and maps the effort to them.
  const settings = {
    providerOptions,
    ...(maxOutputTokens ? { maxOutputTokens } : {}),
    ...(reasoning ? { reasoning } : {}),
  };
  return wrapLanguageModel({ model, middleware: [defaultSettingsMiddleware({ settings }), ...middleware] });
}

/**
 * Returns a `fetch` that does not follow redirects, which could send the API key to another host, and that limits the
 * response (see bounded-response.ts). It also masks our secrets in error responses, because some providers quote the
 * rejected key. Node's fetch itself times out after ten seconds without a connection and five minutes without a
 * response.
 */
export function secureFetch(
  { api_key, headers = {}, credentials = {} }: AssignedModel,
  {
    bound = boundResponse,
    send = sendWithFetch,
  }: { bound?: typeof boundResponse; send?: Send | undefined } = {},
): typeof fetch {
  const secrets = [
    api_key ?? "",
    ...Object.values(headers),
    ...Object.values(credentials).flatMap((value) => value ?? []),
  ].filter(({ length }) => length >= MIN_SECRET_LENGTH);
  return async (input, init) => {
    const response = await send(input, { ...withTrace(String(input), init), redirect: "manual" });
    if (response.ok) return bound(response);
    const { status, statusText, headers } = response;
    const masked = secrets.reduce(
      (text, secret) => text.replaceAll(secret, "[key]"),
      await readBeginning(response),
    );
    const body = [204, 205, 304].includes(status) ? null : masked;
    const remaining = new Headers(headers);
    for (const name of ["content-encoding", "content-length"]) remaining.delete(name);
    return new Response(body, { status, statusText, headers: remaining });
  };
}

/** Sends a request, as `fetch` does. */
export type Send = (...request: Parameters<typeof fetch>) => Promise<Response>;

/** Adds the trace context, if the operator lets the model's host see it. */
function withTrace(url: string, init: RequestInit = {}): RequestInit {
  const added = outgoingTraceHeaders(url);
  if (added.traceparent === undefined) return init;
  return { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...added } };
}

const sendWithFetch: Send = (input, init) => fetch(input, init);

async function readBeginning({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString();
}
