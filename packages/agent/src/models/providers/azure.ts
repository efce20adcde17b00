import { createAzure } from "@ai-sdk/azure";
import type { AssignedModel } from "@outrider/contract/worker";
import type { ProviderModel } from "../provider.ts";
import { clientSettings, type OpenOptions, withSettings } from "./provider-settings.ts";
import { moveToolImages } from "./tool-images.ts";

/** Opens a model of Azure OpenAI. The model's name is the name of its deployment. */
export function azureModel(work: AssignedModel, options: OpenOptions): ProviderModel {
  const azure = createAzure(clientSettings(work, options));
  const { cacheKey } = options;
  const forceReasoning = work.supports_reasoning_effort ? { forceReasoning: true } : {};
  const settings = { store: false, ...(cacheKey ? { promptCacheKey: cacheKey } : {}), ...forceReasoning };
  const providerOptions = { openai: settings, azure: settings };
  if (work.api === "chat") {
    const middleware = [moveToolImages];
    return withSettings(azure.chat(work.name), work, options, { providerOptions, middleware });
  }
  return withSettings(azure.responses(work.name), work, options, { providerOptions });
}
