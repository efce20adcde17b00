import type { SentFile } from "@outrider/contract/event";
import type { Replay } from "@outrider/contract/private-data";
import { estimateTokens } from "./tokens.ts";

/** An image that the log refers to by ID. */
export interface ImageRef {
  id: string;
  source: "attachment" | "artifact";
  mime_type: string;
}

/** A file that was sent with a message, and its path in the sandbox. */
export interface AttachedFile extends SentFile {
  path: string;
}

/** A message from a user, or a note from Outrider itself. */
export interface MessageEntry {
  type: "message";
  text: string;
  isNote: boolean;
  files: readonly AttachedFile[];
}

/** A tool call with its result. */
export interface CallEntry {
  id: string;
  tool: string;
  input: unknown;
  output: string;
  isError: boolean;
  images: readonly ImageRef[];
}

/** One model call: the text that the model wrote and the tools that it called. */
export interface StepEntry {
  type: "step";
  text: string;
  calls: readonly CallEntry[];
  /** The model's reasoning as stored. It is sent only as part of the replay. */
  reasoning: string;
  /** How to send this step back to the model that made it. */
  replay?: Replay | undefined;
}

/**
 * A part of the conversation, independent of any provider's format. Entries are immutable: shortening one creates a
 * copy.
 */
export type Entry = MessageEntry | StepEntry;

/**
 * The estimated number of tokens per image. Providers count differently, but most charge about this much for a large
 * image.
 */
export const IMAGE_TOKENS = 1_600;

const tokenCounts = new WeakMap<Entry, number>();

export function tokensOf(entry: Entry): number {
  const cached = tokenCounts.get(entry);
  if (cached !== undefined) return cached;
  const tokens = estimateTokens(textOf(entry)) + imagesOf(entry).length * IMAGE_TOKENS;
  tokenCounts.set(entry, tokens);
  return tokens;
}

export function imagesOf(entry: Entry): readonly ImageRef[] {
  if (entry.type === "step") {
    // Every step looks for the images of all earlier ones, and few have any.
    const hasImages = entry.calls.some(({ images }) => images.length > 0);
    return hasImages ? entry.calls.flatMap(({ images }) => images) : [];
  }
  return entry.files
    .filter(({ mime_type }) => mime_type.startsWith("image/"))
    .map(({ attachment_id, mime_type }) => ({ id: attachment_id, source: "attachment" as const, mime_type }));
}

function textOf(entry: Entry): string {
  if (entry.type === "message") return entry.text + entry.files.map(({ path }) => path).join("\n");
  const calls = entry.calls.map(({ input, output }) => JSON.stringify(input) + output).join("");
  return `${entry.replay ? entry.reasoning : ""}${entry.text}${calls}`;
}
