import type { CallTokens } from "@outrider/agent/turn/usage";
import {
  collected,
  namedEvent,
  type ResponseContext,
  type ResponsePart,
  requireList,
  type ScriptedFormat,
} from "./format.ts";
import { type JsonObject, objectOf, objectsOf, stringOf, textsOf } from "./json.ts";
import { PromptBuilder } from "./prompt.ts";

/** Anthropic's Messages API. */
export const anthropicMessages: ScriptedFormat = {
  parse(body) {
    const builder = new PromptBuilder();
    for (const message of objectsOf(requireList(body, "messages"))) addMessage(builder, message);
    return {
      model: stringOf(body.model),
      isStreaming: body.stream === true,
      prompt: builder.prompt,
      workingFolder: builder.workingFolder,
      // Tools of the provider itself, such as its web search, have no schema and are not for the model to call.
      tools: objectsOf(body.tools)
        .filter(({ input_schema }) => input_schema !== undefined)
        .map(({ name, input_schema }) => ({ name: stringOf(name), schema: input_schema })),
      canCall: objectOf(body.tool_choice).type !== "none",
      outputSchema:
        objectOf(objectOf(body.output_config).format).schema ?? objectOf(body.output_format).schema,
    };
  },

  async *stream(parts, context) {
    yield namedEvent("message_start", { message: { ...head(context), usage: usageOf(undefined) } });
    let index = -1;
    let isInText = false;
    let isCalling = false;
    for await (const part of parts) {
      if (part.type === "text") {
        if (!isInText)
          yield namedEvent("content_block_start", {
            index: ++index,
            content_block: { type: "text", text: "" },
          });
        isInText = true;
        yield namedEvent("content_block_delta", { index, delta: { type: "text_delta", text: part.delta } });
        continue;
      }
      if (isInText) yield namedEvent("content_block_stop", { index });
      isInText = false;
      if (part.type === "call") {
        isCalling = true;
        const delta = { type: "input_json_delta", partial_json: JSON.stringify(part.input) };
        yield namedEvent("content_block_start", { index: ++index, content_block: toolUse(part, {}) });
        yield namedEvent("content_block_delta", { index, delta });
        yield namedEvent("content_block_stop", { index });
      } else {
        const delta = { stop_reason: isCalling ? "tool_use" : "end_turn", stop_sequence: null };
        yield namedEvent("message_delta", { delta, usage: usageOf(part.tokens) });
        yield namedEvent("message_stop", {});
      }
    }
  },

  whole(parts, context) {
    const { text, calls, tokens } = collected(parts);
    return {
      ...head(context),
      content: [
        ...(text === "" ? [] : [{ type: "text", text }]),
        ...calls.map((call) => toolUse(call, call.input)),
      ],
      stop_reason: calls.length > 0 ? "tool_use" : "end_turn",
      usage: usageOf(tokens),
    };
  },

  countTokens: (path, tokens) =>
    path.split("?")[0]?.endsWith("/count_tokens") ? { input_tokens: tokens } : undefined,
};

function addMessage(builder: PromptBuilder, { role, content }: JsonObject) {
  if (role === "user") {
    for (const block of blocksOf(content)) {
      if (block.type === "tool_result")
        builder.addResult({ id: stringOf(block.tool_use_id), text: textsOf(block.content).join("\n") });
      if (block.type === "text") builder.addUser([stringOf(block.text)]);
    }
  }
  if (role === "assistant") {
    for (const { type, text, id, name, input } of blocksOf(content)) {
      if (type === "text") builder.addAssistantText(stringOf(text));
      if (type === "tool_use") builder.addCall({ id: stringOf(id), name: stringOf(name), input });
    }
  }
}

function blocksOf(content: unknown): JsonObject[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);
}

function head({ id, model }: ResponseContext) {
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
  };
}

function toolUse({ id, tool }: Extract<ResponsePart, { type: "call" }>, input: object) {
  return { type: "tool_use", id: `toolu_${id}`, name: tool.name, input };
}

function usageOf(tokens: CallTokens | undefined) {
  return {
    input_tokens: tokens?.input ?? 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: tokens?.output ?? 0,
  };
}
