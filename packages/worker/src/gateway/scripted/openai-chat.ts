import type { CallTokens } from "@outrider/agent/turn/usage";
import {
  collected,
  dataEvent,
  type ResponseContext,
  type ResponsePart,
  requireList,
  type ScriptedFormat,
} from "./format.ts";
import { type JsonObject, objectOf, objectsOf, parseJson, stringOf, textsOf } from "./json.ts";
import { PromptBuilder } from "./prompt.ts";

/** OpenAI's Chat Completions API. */
export const openaiChat: ScriptedFormat = {
  parse(body) {
    const builder = new PromptBuilder();
    for (const message of objectsOf(requireList(body, "messages"))) addMessage(builder, message);
    return {
      model: stringOf(body.model),
      isStreaming: body.stream === true,
      prompt: builder.prompt,
      workingFolder: builder.workingFolder,
      tools: objectsOf(body.tools)
        .map((tool) => objectOf(tool.function))
        .map(({ name, parameters }) => ({ name: stringOf(name), schema: parameters })),
      canCall: body.tool_choice !== "none",
      outputSchema: objectOf(objectOf(body.response_format).json_schema).schema,
    };
  },

  async *stream(parts, context) {
    const start = head(context, "chat.completion.chunk");
    const chunk = (delta: object, finish_reason: string | null = null) =>
      dataEvent({ ...start, choices: [{ index: 0, delta, finish_reason }] });
    yield chunk({ role: "assistant", content: "" });
    let calls = 0;
    for await (const part of parts) {
      if (part.type === "text") yield chunk({ content: part.delta });
      if (part.type === "call") yield chunk({ tool_calls: [{ index: calls++, ...toolCall(part) }] });
      if (part.type === "end") {
        yield chunk({}, calls > 0 ? "tool_calls" : "stop");
        yield dataEvent({ ...start, choices: [], usage: usageOf(part.tokens) });
        yield "data: [DONE]\n\n";
      }
    }
  },

  whole(parts, context) {
    const { text, calls, tokens } = collected(parts);
    const message = {
      role: "assistant",
      content: text === "" ? null : text,
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
    };
    return {
      ...head(context, "chat.completion"),
      choices: [
        { index: 0, message, logprobs: null, finish_reason: calls.length > 0 ? "tool_calls" : "stop" },
      ],
      usage: usageOf(tokens),
    };
  },
};

function addMessage(builder: PromptBuilder, { role, content, tool_calls, tool_call_id }: JsonObject) {
  if (role === "user") builder.addUser(textsOf(content));
  if (role === "tool") builder.addResult({ id: stringOf(tool_call_id), text: textsOf(content).join("\n") });
  if (role !== "assistant") return;
  builder.addAssistantText(textsOf(content).join(""));
  for (const { id, function: called } of objectsOf(tool_calls)) {
    const { name, arguments: input } = objectOf(called);
    builder.addCall({ id: stringOf(id), name: stringOf(name), input: parseJson(input) });
  }
}

function head({ id, model, createdAt }: ResponseContext, object: string) {
  return { id: `chatcmpl-${id}`, object, created: createdAt, model };
}

function toolCall({ id, tool, input }: Extract<ResponsePart, { type: "call" }>) {
  return {
    id: `call_${id}`,
    type: "function",
    function: { name: tool.name, arguments: JSON.stringify(input) },
  };
}

function usageOf({ input, output }: CallTokens) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}
