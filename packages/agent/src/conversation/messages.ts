import type { ModelMessage, ToolContent } from "ai";
import {
  type AttachedFile,
  type CallEntry,
  type Entry,
  imagesOf,
  type MessageEntry,
  type StepEntry,
} from "./entry.ts";

/** Image data by image ID, or the reason why the image is not sent to the model. */
export type ImageData = ReadonlyMap<string, Uint8Array | string>;

const cache = new WeakMap<Entry, ModelMessage[]>();

/** Converts an entry to the messages that the model reads. */
export function toMessages(entry: Entry, images: ImageData): ModelMessage[] {
  const cached = cache.get(entry);
  if (cached) return cached;
  const messages = entry.type === "message" ? [userMessage(entry, images)] : stepMessages(entry, images);
  // Entries with images are not cached, because the set of included images changes as the conversation grows.
  if (imagesOf(entry).length === 0) cache.set(entry, messages);
  return messages;
}

function userMessage(entry: MessageEntry, imageData: ImageData): ModelMessage {
  const { text, files } = entry;
  if (files.length === 0) return { role: "user", content: text };
  const withFiles = `${text}\n\nFiles attached to this message:\n${files.map(fileLine).join("\n")}`;
  const images = imagesOf(entry);
  if (images.length === 0) return { role: "user", content: withFiles };
  return {
    role: "user",
    content: [{ type: "text", text: withFiles }, ...images.map((image) => imagePart(image, imageData))],
  };
}

function fileLine({ path, mime_type, size_bytes }: AttachedFile): string {
  return `- ${path} (${mime_type}, ${size_bytes} bytes)`;
}

function imagePart({ id, mime_type }: { id: string; mime_type: string }, images: ImageData) {
  const data = images.get(id) ?? "it is not available";
  if (typeof data === "string") return { type: "text" as const, text: `[Image not shown: ${data}.]` };
  return { type: "file" as const, mediaType: mime_type, data: { type: "data" as const, data } };
}

function stepMessages({ text, calls }: StepEntry, images: ImageData): ModelMessage[] {
  const content = [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls.map(({ id, tool, input }) => ({
      type: "tool-call" as const,
      toolCallId: id,
      toolName: tool,
      input,
    })),
  ];
  const messages: ModelMessage[] = content.length > 0 ? [{ role: "assistant", content }] : [];
  if (calls.length > 0)
    messages.push({ role: "tool", content: calls.map((call) => toolResult(call, images)) });
  return messages;
}

function toolResult({ id, tool, output, isError, images }: CallEntry, data: ImageData): ToolContent[number] {
  const result = { type: "tool-result" as const, toolCallId: id, toolName: tool };
  if (images.length === 0) {
    return { ...result, output: { type: isError ? "error-text" : "text", value: output } };
  }
  const text = output === "" ? [] : [{ type: "text" as const, text: output }];
  return {
    ...result,
    output: { type: "content", value: [...text, ...images.map((image) => imagePart(image, data))] },
  };
}
