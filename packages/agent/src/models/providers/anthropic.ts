import { createAnthropic } from "@ai-sdk/anthropic";
import type { AssignedModel } from "@outrider/contract/worker";
import type { LanguageModelMiddleware } from "ai";
import type { Message, ProviderModel } from "../provider.ts";
import { clientSettings, type OpenOptions, withSettings } from "./provider-settings.ts";

/** Opens an Anthropic model. Cache breakpoints are set in the messages; see caching.ts. */
export function anthropicModel(work: AssignedModel, options: OpenOptions): ProviderModel {
  const settings = clientSettings(work, options);
  // Pings prevent the idle timer from firing while the model is silent.
  const providerOptions = { anthropic: { includePings: true } };
  const middleware = [pauseThinking];
  return withSettings(createAnthropic(settings)(work.name), work, options, { providerOptions, middleware });
}

/**
 * Disables thinking for a call whose last tool calls have no thinking block, because another model made them or because
 * the block contained a secret. Models with a thinking budget reject such a conversation otherwise.
 */
const pauseThinking: LanguageModelMiddleware = {
  specificationVersion: "v4",
  transformParams: async ({ params }) => {
    const { reasoning = "provider-default", prompt } = params;
    const isThinking = reasoning !== "provider-default" && reasoning !== "none";
    return isThinking && lacksThinking(prompt.findLast(({ role }) => role === "assistant"))
      ? { ...params, reasoning: "none" }
      : params;
  },
};

function lacksThinking(message: Message | undefined): boolean {
  if (message?.role !== "assistant") return false;
  const types = new Set(message.content.map(({ type }) => type));
  return types.has("tool-call") && !types.has("reasoning");
}
