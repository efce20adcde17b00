import type { ModelMessage, ToolContent } from "ai";
import { type AttachedFile, type Done, type DoneCall, type Entry, type Heard, imagesOf } from "./entry.ts";

/** The images that a model call is given, by id; or why one is not among them. */
export type Shown = ReadonlyMap<string, Uint8Array | string>;

const made = new WeakMap<Entry, ModelMessage[]>();

/** An entry as the model reads it. */
export function messagesOf(entry: Entry, shown: Shown): ModelMessage[] {
  const known = made.get(entry);
  if (known) return known;
  const messages = entry.type === "heard" ? [userMessage(entry, shown)] : stepMessages(entry, shown);
  // Which images are shown changes as the conversation grows.
  if (imagesOf(entry).length === 0) made.set(entry, messages);
  return messages;
}

function userMessage(heard: Heard, shown: Shown): ModelMessage {
  const { text, files } = heard;
  if (files.length === 0) return { role: "user", content: text };
  const named = `${text}\n\nFiles that came with this message:\n${files.map(fileLine).join("\n")}`;
  const images = imagesOf(heard);
  if (images.length === 0) return { role: "user", content: named };
  return {
    role: "user",
    content: [{ type: "text", text: named }, ...images.map((one) => imagePart(one, shown))],
  };
}

function fileLine({ path, mime_type, size_bytes }: AttachedFile): string {
  return `- ${path} (${mime_type}, ${size_bytes} bytes)`;
}

function imagePart({ id, mime_type }: { id: string; mime_type: string }, shown: Shown) {
  const data = shown.get(id) ?? "it is not at hand";
  if (typeof data === "string") return { type: "text" as const, text: `[An image is not shown: ${data}.]` };
  return { type: "file" as const, mediaType: mime_type, data: { type: "data" as const, data } };
}

function stepMessages({ words, calls }: Done, shown: Shown): ModelMessage[] {
  const said = [
    ...(words === "" ? [] : [{ type: "text" as const, text: words }]),
    ...calls.map(({ id, tool, input }) => ({
      type: "tool-call" as const,
      toolCallId: id,
      toolName: tool,
      input,
    })),
  ];
  const messages: ModelMessage[] = said.length > 0 ? [{ role: "assistant", content: said }] : [];
  if (calls.length > 0) messages.push({ role: "tool", content: calls.map((call) => resultOf(call, shown)) });
  return messages;
}

function resultOf({ id, tool, output, isError, images }: DoneCall, shown: Shown): ToolContent[number] {
  const result = { type: "tool-result" as const, toolCallId: id, toolName: tool };
  if (images.length === 0) {
    return { ...result, output: { type: isError ? "error-text" : "text", value: output } };
  }
  const text = output === "" ? [] : [{ type: "text" as const, text: output }];
  return {
    ...result,
    output: { type: "content", value: [...text, ...images.map((one) => imagePart(one, shown))] },
  };
}
