import type { SentFile } from "@outrider/contract/event";
import { tokensIn } from "./tokens.ts";

/** An image that stands in the log by its id alone. */
export interface ImageRef {
  id: string;
  of: "attachment" | "artifact";
  mime_type: string;
}

/** A file that came with a message, and where the agent finds it. */
export interface AttachedFile extends SentFile {
  path: string;
}

/** What a user or Outrider said. */
export interface Heard {
  type: "heard";
  text: string;
  isNote: boolean;
  files: readonly AttachedFile[];
}

export interface DoneCall {
  id: string;
  tool: string;
  input: unknown;
  output: string;
  isError: boolean;
  images: readonly ImageRef[];
}

/** One model call and what came of it. */
export interface Done {
  type: "done";
  words: string;
  calls: readonly DoneCall[];
}

/** The conversation, before it takes a model's form. Entries never change: what is shortened becomes another one. */
export type Entry = Heard | Done;

/** What an image costs is each provider's secret; this is what most of them charge for a large one. */
export const IMAGE_TOKENS = 1_600;

const sizes = new WeakMap<Entry, number>();

export function tokensOf(entry: Entry): number {
  const known = sizes.get(entry);
  if (known !== undefined) return known;
  const size = tokensIn(textOf(entry)) + imagesOf(entry).length * IMAGE_TOKENS;
  sizes.set(entry, size);
  return size;
}

export function imagesOf(entry: Entry): readonly ImageRef[] {
  if (entry.type === "done") return entry.calls.flatMap(({ images }) => images);
  return entry.files
    .filter(({ mime_type }) => mime_type.startsWith("image/"))
    .map(({ attachment_id, mime_type }) => ({ id: attachment_id, of: "attachment" as const, mime_type }));
}

function textOf(entry: Entry): string {
  if (entry.type === "heard") return entry.text + entry.files.map(({ path }) => path).join("\n");
  return entry.words + entry.calls.map(({ input, output }) => JSON.stringify(input) + output).join("");
}
