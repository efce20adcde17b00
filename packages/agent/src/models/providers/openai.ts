import { createOpenAI } from "@ai-sdk/openai";
import type { AssignedModel } from "@outrider/contract/worker";
import type { ProviderModel } from "../provider.ts";
import { clientSettings, type OpenOptions, withSettings } from "./provider-settings.ts";
import { moveToolImages } from "./tool-images.ts";

/**
 * Opens an OpenAI model. The Responses API returns encrypted reasoning, which later calls send back. Chat Completions
 * returns no reasoning at all, so nothing of it can be sent back.
 */
export function openaiModel(work: AssignedModel, options: OpenOptions): ProviderModel {
  const { cacheKey } = options;
  const openai = createOpenAI(clientSettings(work, options));
  // Every call sends the whole conversation, so the provider does not have to store it. For a model that reasons, the
  // AI SDK then requests `reasoning.encrypted_content`. It knows OpenAI's own models but not those of a gateway.
  const forceReasoning = work.supports_reasoning_effort ? { forceReasoning: true } : {};
  const cache = cacheKey ? { promptCacheKey: cacheKey } : {};
  const providerOptions = { openai: { store: false, ...cache, ...forceReasoning } };
  if (work.api === "chat") {
    const middleware = [moveToolImages];
    return withSettings(openai.chat(work.name), work, options, { providerOptions, middleware });
  }
  return withSettings(openai.responses(work.name), work, options, { providerOptions });
}
