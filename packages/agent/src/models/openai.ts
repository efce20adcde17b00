import { createOpenAI } from "@ai-sdk/openai";
import type { AssignedModel } from "@outrider/contract/worker";
import type { ProviderModel } from "./provider.ts";
import { clientSettings, type OpenOptions, withSettings } from "./provider-settings.ts";
import { moveToolImages } from "./tool-images.ts";

export function openaiModel(work: AssignedModel, { cacheKey }: OpenOptions): ProviderModel {
  const openai = createOpenAI(clientSettings(work, "https://api.openai.com/v1"));
  // Every call sends the whole conversation, so the provider does not have to store it.
  const providerOptions = { openai: { store: false, ...(cacheKey ? { promptCacheKey: cacheKey } : {}) } };
  if (work.api === "chat") {
    return withSettings(openai.chat(work.name), work, { providerOptions, middleware: [moveToolImages] });
  }
  return withSettings(openai.responses(work.name), work, { providerOptions });
}
