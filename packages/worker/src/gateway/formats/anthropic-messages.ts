import { anthropicCounts } from "@outrider/agent/models/partial-usage";
import { asCount, asList, asObject, type Format, keepTools, lengthOf } from "./format.ts";

/** The types of tools that the agent runs itself. All others are run by Anthropic's servers. */
const ownTools = /^(custom$|bash_|text_editor_|computer_|memory_)/;

const errorTypes: Record<number, string> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
};

/** Anthropic's Messages API. */
export const anthropicMessages: Format = {
  name: "anthropic-messages",
  pathOf: () => "/messages",
  countPathOf: () => "/messages/count_tokens",
  countResponse: (input_tokens) => ({ input_tokens }),
  maxOutputTokens: ({ max_tokens }) => asCount(max_tokens),
  limitOutput(body, maxTokens) {
    body.max_tokens = maxTokens;
    const thinking = asObject(body.thinking);
    // The API requires that some of the output remains for the answer.
    if ((asCount(thinking.budget_tokens) ?? 0) >= maxTokens)
      body.thinking = { ...thinking, budget_tokens: Math.floor(maxTokens / 2) };
  },
  hasTools: ({ tools }) => asList(tools).length > 0,
  forbidTools(body) {
    if (asList(body.tools).length > 0) body.tool_choice = { type: "none" };
  },
  dropHostedFeatures(body) {
    keepTools(
      body,
      ({ type }) => (type ?? null) === null || (typeof type === "string" && ownTools.test(type)),
    );
    delete body.mcp_servers;
    delete body.container;
  },
  readUsage(event, usage) {
    if (event.type === "message") return usage.add(anthropicCounts(asObject(event.usage)));
    usage.push(event);
  },
  isFinal: ({ type }) => type === "message_delta" || type === "message",
  charactersOf({ type, delta }) {
    if (type !== "content_block_delta") return 0;
    const { text, thinking, partial_json } = asObject(delta);
    return lengthOf(text) + lengthOf(thinking) + lengthOf(partial_json);
  },
  errorBody(status, message) {
    const type = errorTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
    return { type: "error", error: { type, message } };
  },
};
