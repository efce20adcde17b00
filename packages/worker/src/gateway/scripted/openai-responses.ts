import type { CallTokens } from "@outrider/agent/turn/usage";
import { type AgentTool, fullName } from "./agent-tools.ts";
import {
  collected,
  namedEvent,
  type ResponseContext,
  type ResponsePart,
  type ScriptedFormat,
} from "./format.ts";
import { type JsonObject, objectOf, objectsOf, parseJson, stringOf, textsOf } from "./json.ts";
import { PromptBuilder } from "./prompt.ts";

type Call = Extract<ResponsePart, { type: "call" }>;

/** OpenAI's Responses API. */
export const openaiResponses: ScriptedFormat = {
  parse(body) {
    const { input } = body;
    if (typeof input !== "string" && !Array.isArray(input))
      throw new Error("input must be a text or a list.");
    const builder = new PromptBuilder();
    if (typeof input === "string") builder.addUser([input]);
    else for (const item of objectsOf(input)) addItem(builder, item);
    return {
      model: stringOf(body.model),
      isStreaming: body.stream === true,
      prompt: builder.prompt,
      workingFolder: builder.workingFolder,
      tools: objectsOf(body.tools).flatMap((tool) => toolsOf(tool)),
      canCall: body.tool_choice !== "none",
      outputSchema: objectOf(objectOf(body.text).format).schema,
    };
  },

  async *stream(parts, context) {
    let sequence_number = 0;
    const event = (type: string, data: object) =>
      namedEvent(type, { sequence_number: sequence_number++, ...data });
    const response = head(context, "in_progress");
    yield event("response.created", { response });
    yield event("response.in_progress", { response });
    const output: object[] = [];
    let text = "";
    const place = () => ({
      item_id: itemId(context, output.length),
      output_index: output.length,
      content_index: 0,
    });
    for await (const part of parts) {
      if (part.type === "text") {
        if (text === "") {
          yield event("response.output_item.added", {
            output_index: output.length,
            item: { ...messageItem(place().item_id, ""), status: "in_progress", content: [] },
          });
          yield event("response.content_part.added", { ...place(), part: textPart("") });
        }
        text += part.delta;
        yield event("response.output_text.delta", { ...place(), delta: part.delta, logprobs: [] });
        continue;
      }
      if (text !== "") {
        const item = messageItem(place().item_id, text);
        yield event("response.output_text.done", { ...place(), text, logprobs: [] });
        yield event("response.content_part.done", { ...place(), part: textPart(text) });
        yield event("response.output_item.done", { output_index: output.length, item });
        output.push(item);
        text = "";
      }
      if (part.type === "call") {
        const { item_id, output_index } = place();
        const { start, done, kind, field } = callItem(part, item_id);
        const value = stringOf(objectOf(done)[field]);
        yield event("response.output_item.added", { output_index, item: start });
        yield event(`response.${kind}.delta`, { item_id, output_index, delta: value });
        yield event(`response.${kind}.done`, { item_id, output_index, [field]: value });
        yield event("response.output_item.done", { output_index, item: done });
        output.push(done);
      } else {
        yield event("response.completed", {
          response: { ...head(context, "completed"), output, usage: usageOf(part.tokens) },
        });
      }
    }
  },

  whole(parts, context) {
    const { text, calls, tokens } = collected(parts);
    const message = text === "" ? [] : [messageItem(itemId(context, 0), text)];
    const called = calls.map((call, index) => callItem(call, itemId(context, message.length + index)).done);
    return { ...head(context, "completed"), output: [...message, ...called], usage: usageOf(tokens) };
  },
};

function addItem(builder: PromptBuilder, item: JsonObject) {
  const { type = "message", role, content, call_id, output } = item;
  switch (type) {
    case "message":
      if (role === "user") builder.addUser(textsOf(content));
      if (role === "assistant") builder.addAssistantText(textsOf(content).join(""));
      return;
    case "function_call":
    case "custom_tool_call": {
      const name = fullName({ name: stringOf(item.name), namespace: stringOf(item.namespace) });
      const input = type === "function_call" ? parseJson(item.arguments) : item.input;
      return builder.addCall({ id: stringOf(call_id), name, input });
    }
    case "function_call_output":
    case "custom_tool_call_output":
      return builder.addResult({ id: stringOf(call_id), text: textsOf(output).join("\n") });
  }
}

/** A namespace contains tools; a tool of OpenAI itself, such as its web search, is not for the model to call. */
function toolsOf({ type, name, parameters, tools }: JsonObject, namespace?: string): AgentTool[] {
  const tool = { name: stringOf(name), ...(namespace && { namespace }) };
  if (type === "function") return [{ ...tool, schema: parameters }];
  if (type === "custom") return [{ ...tool, isFreeform: true }];
  // The tools of a namespace are never namespaces.
  if (type === "namespace" && !namespace)
    return objectsOf(tools).flatMap((nested) => toolsOf(nested, stringOf(name)));
  return [];
}

function head({ id, model, createdAt }: ResponseContext, status: string) {
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: createdAt,
    status,
    model,
    output: [],
    error: null,
    incomplete_details: null,
    parallel_tool_calls: false,
    tools: [],
    usage: null,
  };
}

function itemId({ id }: ResponseContext, index: number): string {
  return `item_${id}_${index}`;
}

function textPart(text: string) {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

function messageItem(id: string, text: string) {
  return { id, type: "message", role: "assistant", status: "completed", content: [textPart(text)] };
}

function callItem({ id: callId, tool, input }: Call, id: string) {
  const { name, namespace, isFreeform } = tool;
  const item = { id, call_id: `call_${callId}`, name, ...(namespace && { namespace }) };
  if (isFreeform) {
    const text = Object.values(input).find((value) => typeof value === "string") ?? JSON.stringify(input);
    const call = { ...item, type: "custom_tool_call" };
    return {
      start: { ...call, status: "in_progress", input: "" },
      done: { ...call, status: "completed", input: text },
      kind: "custom_tool_call_input",
      field: "input",
    };
  }
  const call = { ...item, type: "function_call" };
  return {
    start: { ...call, status: "in_progress", arguments: "" },
    done: { ...call, status: "completed", arguments: JSON.stringify(input) },
    kind: "function_call_arguments",
    field: "arguments",
  };
}

function usageOf({ input, output }: CallTokens) {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}
