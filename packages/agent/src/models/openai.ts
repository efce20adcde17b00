import { createOpenAI } from "@ai-sdk/openai";
import type { ModelWork } from "@outrider/contract/worker";
import { addressOf, type OpenOptions, withSettings } from "./connection.ts";
import type { ProviderModel } from "./provider.ts";
import { toolImagesBeside } from "./tool-images.ts";

export function openaiModel(work: ModelWork, { cacheKey }: OpenOptions): ProviderModel {
  const openai = createOpenAI(addressOf(work, "https://api.openai.com/v1"));
  // The whole conversation goes with every call, so nothing of it need stay with the provider.
  const providerOptions = { openai: { store: false, ...(cacheKey ? { promptCacheKey: cacheKey } : {}) } };
  if (work.api === "chat") {
    return withSettings(openai.chat(work.name), work, { providerOptions, middleware: [toolImagesBeside] });
  }
  return withSettings(openai.responses(work.name), work, { providerOptions });
}
