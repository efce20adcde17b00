import type { ReplayPart } from "@outrider/contract/private-data";
import type { AssistantContent, ModelMessage, ToolContent } from "ai";
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

interface CachedMessages {
  model: string;
  messages: ModelMessage[];
}

const cache = new WeakMap<Entry, CachedMessages>();

/**
 * Converts an entry to the messages that the model reads. `model` is the replay key of the model (see
 * models/replay.ts): another model's reasoning is omitted.
 */
export function toMessages(entry: Entry, images: ImageData, model: string): ModelMessage[] {
  const cached = cache.get(entry);
  if (cached?.model === model) return cached.messages;
  const messages =
    entry.type === "message" ? [userMessage(entry, images)] : stepMessages(entry, images, model);
  // Entries with images are not cached, because the set of included images changes as the conversation grows.
  if (imagesOf(entry).length === 0) cache.set(entry, { model, messages });
  return messages;
}

function userMessage(entry: MessageEntry, imageData: ImageData): ModelMessage {
  const { text, files } = entry;
  if (files.length === 0) return { role: "user", content: text };
  const withFiles = withFileList(text, files);
  const images = imagesOf(entry);
  if (images.length === 0) return { role: "user", content: withFiles };
  return {
    role: "user",
    content: [{ type: "text", text: withFiles }, ...images.map((image) => imagePart(image, imageData))],
  };
}

/** Adds the paths of the attached files to a message. */
export function withFileList(text: string, files: readonly FileLine[]): string {
  return `${text}\n\nFiles attached to this message:\n${files.map(fileLine).join("\n")}`;
}

type FileLine = Pick<AttachedFile, "path" | "mime_type" | "size_bytes">;

function fileLine({ path, mime_type, size_bytes }: FileLine): string {
  return `- ${path} (${mime_type}, ${size_bytes} bytes)`;
}

function imagePart({ id, mime_type }: { id: string; mime_type: string }, images: ImageData) {
  const data = images.get(id) ?? "it is not available";
  if (typeof data === "string") return { type: "text" as const, text: `[Image not shown: ${data}.]` };
  return { type: "file" as const, mediaType: mime_type, data: { type: "data" as const, data } };
}

function stepMessages(step: StepEntry, images: ImageData, model: string): ModelMessage[] {
  const { calls, replay } = step;
  const content = replay?.model === model ? replayedContent(step, replay.parts) : plainContent(step);
  const messages: ModelMessage[] = content.length > 0 ? [{ role: "assistant", content }] : [];
  if (calls.length > 0)
    messages.push({ role: "tool", content: calls.map((call) => toolResult(call, images)) });
  return messages;
}

type Content = Exclude<AssistantContent, string>;

function plainContent({ text, calls }: StepEntry): Content {
  return [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls.map(callPart)];
}

function callPart({ id, tool, input }: CallEntry) {
  return { type: "tool-call" as const, toolCallId: id, toolName: tool, input };
}

/**
 * Returns the step's parts in the order in which the model sent them, with the values that its provider needs. Calls
 * that never ran are omitted. Text that no part describes, for example because redaction changed its length, is added
 * as a whole.
 */
function replayedContent({ text, reasoning, calls }: StepEntry, parts: readonly ReplayPart[]): Content {
  const textParts = parts.filter((part) => part.type === "text");
  const hasRanges = textParts.at(-1)?.end === text.length && text.trim() !== "";
  const left = [...calls];
  const content: Content = [];
  let isTextAdded = hasRanges || text.trim() === "";
  for (const part of parts) {
    const options = part.metadata ? { providerOptions: part.metadata } : {};
    if (part.type === "reasoning") {
      content.push({ type: "reasoning", text: reasoning.slice(part.start, part.end), ...options });
    } else if (part.type === "text") {
      const range = hasRanges ? text.slice(part.start, part.end) : isTextAdded ? "" : text;
      isTextAdded = true;
      if (range !== "" || part.metadata?.google) content.push({ type: "text", text: range, ...options });
    } else {
      if (!isTextAdded) content.push({ type: "text", text });
      isTextAdded = true;
      const call = left[0]?.tool === part.tool ? left.shift() : undefined;
      if (call) content.push({ ...callPart(call), ...options });
    }
  }
  if (!isTextAdded) content.push({ type: "text", text });
  content.push(...left.map(callPart));
  // Reasoning must be followed by what it led to. If that call never ran, its reasoning is omitted as well.
  const end = content.findLastIndex(({ type }) => type !== "reasoning") + 1;
  return content.slice(0, end);
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
