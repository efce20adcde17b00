import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { AssignedModel } from "@outrider/contract/worker";
import type { LanguageModelMiddleware } from "ai";
import type { Message, ProviderModel } from "../provider.ts";
import { COMPATIBLE, REASONING_CONTENT } from "../replay.ts";
import { baseUrlOf } from "./base-url.ts";
import { type OpenOptions, secureFetch, withSettings } from "./provider-settings.ts";
import { moveToolImages } from "./tool-images.ts";

/**
 * Opens a model behind any OpenAI-compatible Chat Completions API, such as Ollama, vLLM, llama.cpp or a gateway. Many
 * of these need no key.
 *
 * Servers send reasoning as `reasoning_content`, as `reasoning` or in tags. Some that send `reasoning_content`, such as
 * DeepSeek, require it back with each tool call, and some that do not reject unknown fields. It is therefore sent only
 * to a server that has sent it.
 */
export function compatibleModel(work: AssignedModel, options: OpenOptions): ProviderModel {
  const { api_key: apiKey, headers } = work;
  const compatible = createOpenAICompatible({
    name: COMPATIBLE,
    baseURL: baseUrlOf(work),
    ...(apiKey ? { apiKey } : {}),
    ...(headers ? { headers } : {}),
    includeUsage: true,
    fetch: secureFetch(work, options),
    metadataExtractor: {
      extractMetadata: async () => undefined,
      createStreamExtractor: createReasoningDetector,
    },
  });
  const middleware = [moveToolImages, keepReasoningOfCalls];
  return withSettings(compatible(work.name), work, options, { middleware });
}

/** Detects whether the server sends `reasoning_content`. */
function createReasoningDetector() {
  let isFound = false;
  return {
    processChunk(chunk: unknown) {
      const { choices } = (chunk ?? {}) as { choices?: { delta?: { reasoning_content?: unknown } }[] };
      isFound ||= Array.isArray(choices) && typeof choices[0]?.delta?.reasoning_content === "string";
    },
    buildMetadata: () => ({ [COMPATIBLE]: { [REASONING_CONTENT]: isFound } }),
  };
}

/** Servers need the reasoning that led to tool calls. That of other messages would only fill the context. */
const keepReasoningOfCalls: LanguageModelMiddleware = {
  specificationVersion: "v4",
  transformParams: async ({ params }) => ({ ...params, prompt: params.prompt.map(withoutIdleReasoning) }),
};

function withoutIdleReasoning(message: Message): Message {
  if (message.role !== "assistant" || message.content.some(({ type }) => type === "tool-call"))
    return message;
  return { ...message, content: message.content.filter(({ type }) => type !== "reasoning") };
}
