import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { ModelWork } from "@outrider/contract/worker";
import { Failure } from "../failure.ts";
import { secureFetch, withSettings } from "./connection.ts";
import type { ProviderModel } from "./provider.ts";
import { toolImagesBeside } from "./tool-images.ts";

/** Whatever speaks OpenAI's Chat Completions: Ollama, vLLM, llama.cpp, gateways. Many of them want no key. */
export function compatibleModel(work: ModelWork): ProviderModel {
  const { base_url: baseURL, api_key: apiKey, headers } = work;
  if (!baseURL) {
    const message = `The provider of ${work.model_id} has no base_url; the operator sets it in Outrider's configuration of models.`;
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
  return withSettings(compatible(work.name), work, { middleware: [toolImagesBeside] });
}
