import type { ModelWork } from "@outrider/contract/worker";
import { defaultSettingsMiddleware, type LanguageModelMiddleware, wrapLanguageModel } from "ai";
import type { CallOptions, ProviderModel } from "./provider.ts";

/** What a model is opened with besides its address. */
export interface OpenOptions {
  /** The same for calls whose beginnings are alike, so that the provider finds what it has cached: the run. */
  cacheKey?: string | undefined;
}

/** The most that is read of an answer which says no. */
const ERROR_BYTES = 64 * 1024;
/** Shorter values could be anything, and to cut them out would garble the message. */
const SECRET_LENGTH = 8;

/** All members are set: what is absent, the AI SDK would take from the environment of the worker. */
export function addressOf(work: ModelWork, ownUrl: string) {
  return {
    baseURL: work.base_url ?? ownUrl,
    apiKey: work.api_key ?? "",
    headers: work.headers ?? {},
    fetch: secureFetch(work),
  };
}

export function withSettings(
  model: ProviderModel,
  { max_output_tokens: maxOutputTokens }: ModelWork,
  {
    providerOptions = {},
    middleware = [],
  }: {
    providerOptions?: CallOptions["providerOptions"] & {};
    middleware?: LanguageModelMiddleware[];
  } = {},
): ProviderModel {
  const settings = { providerOptions, ...(maxOutputTokens ? { maxOutputTokens } : {}) };
  return wrapLanguageModel({ model, middleware: [defaultSettingsMiddleware({ settings }), ...middleware] });
}

/**
 * Node's own fetch gives up after ten seconds without a connection and five minutes without an answer. This one besides
 * follows no redirect, which could carry the key elsewhere, and answers that say no come without our secrets in them:
 * some providers quote the key that they refuse.
 */
export function secureFetch({ api_key, headers = {} }: ModelWork): typeof fetch {
  const secrets = [api_key ?? "", ...Object.values(headers)].filter(({ length }) => length >= SECRET_LENGTH);
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: "manual" });
    if (response.ok) return response;
    const { status, statusText, headers } = response;
    const said = secrets.reduce(
      (text, secret) => text.replaceAll(secret, "[key]"),
      await beginning(response),
    );
    const body = [204, 205, 304].includes(status) ? null : said;
    const kept = new Headers(headers);
    for (const name of ["content-encoding", "content-length"]) kept.delete(name);
    return new Response(body, { status, statusText, headers: kept });
  };
}

async function beginning({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, ERROR_BYTES).toString();
}
