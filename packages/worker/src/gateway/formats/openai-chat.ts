import { asCount, asList, asObject, type Format, keepTools, lengthOf } from "./format.ts";
import { openaiError } from "./openai-errors.ts";

/** OpenAI's Chat Completions API, which many other servers offer as well. */
export const openaiChat: Format = {
  name: "openai-chat",
  pathOf: () => "/chat/completions",
  maxOutputTokens: (body) => asCount(body.max_completion_tokens) ?? asCount(body.max_tokens),
  limitOutput(body, maxTokens) {
    for (const field of ["max_completion_tokens", "max_tokens"]) {
      if (field in body) body[field] = maxTokens;
    }
  },
  hasTools: ({ tools, functions }) => asList(tools).length > 0 || asList(functions).length > 0,
  forbidTools(body) {
    if (asList(body.tools).length > 0) body.tool_choice = "none";
    if (asList(body.functions).length > 0) body.function_call = "none";
  },
  dropHostedFeatures(body) {
    keepTools(body, ({ type }) => type === undefined || type === "function" || type === "custom");
    delete body.web_search_options;
    if ("store" in body) body.store = false;
  },
  readUsage: (event, usage) => usage.push(event),
  isFinal: ({ usage }) => typeof usage === "object" && usage !== null,
  charactersOf: ({ choices }) =>
    asList(choices).reduce<number>((sum, choice) => {
      const { content, reasoning_content, reasoning, tool_calls } = asObject(asObject(choice).delta);
      const inputs = asList(tool_calls).map((call) => lengthOf(asObject(asObject(call).function).arguments));
      const texts = [content, reasoning_content, reasoning].map(lengthOf);
      return [...texts, ...inputs].reduce((total, length) => total + length, sum);
    }, 0),
  errorBody: openaiError,
};

/** Returns whether the stream of this request reports its usage. */
export function asksForUsage(body: Record<string, unknown>): boolean {
  return asObject(body.stream_options).include_usage === true;
}

/** Makes the stream report its usage, in an additional chunk without choices. */
export function askForUsage(body: Record<string, unknown>): void {
  body.stream_options = { ...asObject(body.stream_options), include_usage: true };
}

export function isUsageChunk({ choices, usage }: Record<string, unknown>): boolean {
  return Array.isArray(choices) && choices.length === 0 && typeof usage === "object" && usage !== null;
}
