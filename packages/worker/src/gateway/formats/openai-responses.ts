import { responsesCounts } from "@outrider/agent/models/partial-usage";
import { asCount, asList, asObject, type Format, type Json, keepTools, lengthOf } from "./format.ts";
import { openaiError } from "./openai-errors.ts";

/** The types of tools that the agent runs itself. All others are run by OpenAI's servers. */
const ownTools = ["function", "custom", "namespace", "local_shell", "apply_patch", "tool_search"];

/** OpenAI's Responses API. */
export const openaiResponses: Format = {
  name: "openai-responses",
  pathOf: () => "/responses",
  findUnsupported(body) {
    const field = ["previous_response_id", "conversation"].find((name) => (body[name] ?? null) !== null);
    return (
      field && `\`${field}\` is not supported, because responses are not stored. Send the whole conversation.`
    );
  },
  maxOutputTokens: ({ max_output_tokens }) => asCount(max_output_tokens),
  limitOutput(body, maxTokens) {
    body.max_output_tokens = maxTokens;
  },
  hasTools: ({ tools }) => asList(tools).length > 0,
  forbidTools(body) {
    if (asList(body.tools).length > 0) body.tool_choice = "none";
  },
  dropHostedFeatures(body) {
    keepTools(body, ({ type }) => typeof type === "string" && ownTools.includes(type));
    // A response in the background is charged without anyone reading its usage.
    delete body.background;
    body.store = false;
  },
  readUsage(event, usage) {
    usage.add(responsesCounts(asObject(usageOf(event))));
  },
  isFinal: (event) => usageOf(event) !== undefined,
  charactersOf: ({ type, delta }) => (String(type).endsWith(".delta") ? lengthOf(delta) : 0),
  errorBody: openaiError,
};

/** A streamed response reports its usage in its last event. */
function usageOf(event: Json): unknown {
  return asObject(event.response).usage ?? event.usage ?? undefined;
}
