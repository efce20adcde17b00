/** Reads responses as the agents do, so that each format is checked by what it means and not by its bytes. */
import type { WireFormat } from "@outrider/contract/harness";
import type { ScriptedAnswer } from "../../../src/gateway/scripted/answer-scripted.ts";

export interface ReadResponse {
  text: string;
  calls: { name: string; namespace?: string; input: unknown }[];
  usage: { input: number; output: number };
  isComplete: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: the formats have nothing in common
type Json = any;

export async function readBody({ body }: ScriptedAnswer): Promise<string> {
  let text = "";
  for await (const chunk of body) text += chunk;
  return text;
}

export async function readStream(format: WireFormat, answer: ScriptedAnswer): Promise<ReadResponse> {
  const events = (await readBody(answer))
    .split("\n\n")
    .map((event) => event.split("\n").find((line) => line.startsWith("data: ")))
    .flatMap((line) => (line ? [line.slice("data: ".length)] : []));
  const isDone = events.at(-1) === "[DONE]";
  const data: Json[] = events.filter((event) => event !== "[DONE]").map((event) => JSON.parse(event));
  return readers[format](data, isDone);
}

const readers: Record<WireFormat, (events: Json[], isDone: boolean) => ReadResponse> = {
  "anthropic-messages": (events) => {
    const starts = events.filter(({ type }) => type === "content_block_start");
    const deltas = events.filter(({ type }) => type === "content_block_delta");
    const [end] = events.filter(({ type }) => type === "message_delta");
    return {
      text: deltas.map(({ delta }) => delta.text ?? "").join(""),
      calls: starts
        .filter(({ content_block }) => content_block.type === "tool_use")
        .map(({ content_block, index }) => ({
          name: content_block.name,
          input: JSON.parse(
            deltas
              .filter((delta) => delta.index === index)
              .map(({ delta }) => delta.partial_json)
              .join(""),
          ),
        })),
      usage: { input: end.usage.input_tokens, output: end.usage.output_tokens },
      isComplete: events.at(-1).type === "message_stop",
    };
  },
  "openai-chat": (events, isComplete) => {
    const deltas = events.flatMap(({ choices }) => choices.map(({ delta }: Json) => delta));
    const { usage } = events.findLast((event) => event.usage);
    return {
      text: deltas.map(({ content }) => content ?? "").join(""),
      calls: deltas
        .flatMap(({ tool_calls = [] }) => tool_calls)
        .map((call: Json) => ({ name: call.function.name, input: JSON.parse(call.function.arguments) })),
      usage: { input: usage.prompt_tokens, output: usage.completion_tokens },
      isComplete,
    };
  },
  "openai-responses": (events) => {
    const { response, type } = events.at(-1);
    const done = events.filter((event) => event.type === "response.output_item.done").map(({ item }) => item);
    return {
      text: events
        .filter((event) => event.type === "response.output_text.delta")
        .map(({ delta }) => delta)
        .join(""),
      calls: done.filter((item) => item.type !== "message").map(callOf),
      usage: { input: response.usage.input_tokens, output: response.usage.output_tokens },
      isComplete: type === "response.completed" && response.output.length === done.length,
    };
  },
  gemini: (events) => {
    const parts = events.flatMap(({ candidates }) => candidates[0].content.parts);
    const last = events.at(-1);
    return {
      text: parts.map(({ text = "" }) => text).join(""),
      calls: parts.flatMap(({ functionCall }) =>
        functionCall ? [{ name: functionCall.name, input: functionCall.args }] : [],
      ),
      usage: {
        input: last.usageMetadata.promptTokenCount,
        output: last.usageMetadata.candidatesTokenCount,
      },
      isComplete: last.candidates[0].finishReason === "STOP",
    };
  },
};

function callOf({ type, name, namespace, arguments: args, input }: Json) {
  return {
    name,
    ...(namespace && { namespace }),
    input: type === "custom_tool_call" ? input : JSON.parse(args),
  };
}
