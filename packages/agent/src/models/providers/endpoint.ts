import type { AssignedModel } from "@outrider/contract/worker";
import { baseUrlOf } from "./base-url.ts";
import { GoogleToken } from "./google-token.ts";
import { type Send, secureFetch } from "./provider-settings.ts";

const ANTHROPIC_VERSION = "2023-06-01";

/** A provider's API for requests that are already in its own format. */
export interface Endpoint {
  baseUrl: string;
  /** Returns the headers that authenticate a request, or the response that refuses to issue a token. */
  authorize(signal: AbortSignal): Promise<Record<string, string> | Response>;
  /** Like the AI SDK's clients, this limits responses and masks our secrets in errors. */
  fetch: typeof fetch;
}

/**
 * Opens the endpoint of a model. Throws a Failure if the operator must complete its configuration. `send` replaces
 * Node's `fetch`.
 */
export function openEndpoint(work: AssignedModel, options: { send?: Send } = {}): Endpoint {
  return {
    baseUrl: baseUrlOf(work),
    authorize: createAuthorizer(work, options),
    fetch: secureFetch(work, options),
  };
}

/** The operator's own headers replace ours, as they do in the AI SDK. */
function createAuthorizer(work: AssignedModel, options: { send?: Send }): Endpoint["authorize"] {
  const { provider, api_key: key = "", headers = {} } = work;
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  if (provider === "google-vertex") {
    const token = new GoogleToken(work, options);
    return async (signal) => {
      const found = await token.get(signal);
      return typeof found === "string" ? { authorization: `Bearer ${found}`, ...own } : found;
    };
  }
  const fixed = { ...keyHeaders(provider, key), ...own };
  return async () => fixed;
}

function keyHeaders(provider: AssignedModel["provider"], key: string): Record<string, string> {
  switch (provider) {
    case "anthropic":
      return { "anthropic-version": ANTHROPIC_VERSION, ...(key ? { "x-api-key": key } : {}) };
    case "google":
      return key ? { "x-goog-api-key": key } : {};
    case "azure":
      return key ? { "api-key": key } : {};
    default:
      return key ? { authorization: `Bearer ${key}` } : {};
  }
}
