import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { AssignedModel } from "@outrider/contract/worker";
import { Failure } from "../failure.ts";
import type { ProviderModel } from "./provider.ts";
import { secureFetch, withSettings } from "./provider-settings.ts";
import { moveToolImages } from "./tool-images.ts";

/**
 * Opens a model behind any OpenAI-compatible Chat Completions API, such as Ollama, vLLM, llama.cpp or a gateway. Many
 * of these need no key.
 */
export function compatibleModel(work: AssignedModel): ProviderModel {
  const { base_url: baseURL, api_key: apiKey, headers } = work;
  if (!baseURL) {
    const message = `The provider of ${work.model_id} has no base_url. The operator must set it in Outrider's model configuration.`;
    throw new Failure("model_not_available", message);
  }
  const compatible = createOpenAICompatible({
    name: "compatible",
    baseURL,
    ...(apiKey ? { apiKey } : {}),
    ...(headers ? { headers } : {}),
    includeUsage: true,
    fetch: secureFetch(work),
  });
  return withSettings(compatible(work.name), work, { middleware: [moveToolImages] });
}
