import { readFileSync } from "node:fs";
import type { EventData } from "@outrider/contract/event";
import type { ModelWork } from "@outrider/contract/worker";
import { pruned, summarised, transcript } from "./compact.ts";
import { type Entry, tokensOf } from "./entry.ts";
import { ends } from "./output.ts";
import { bytesIn } from "./tokens.ts";

/** What the one who writes the summary is told. */
export const compactionPrompt = readFileSync(new URL("./compaction.md", import.meta.url), "utf8");

/** Where nobody says how long an answer may get. */
const ANSWER_TOKENS = 8_192;
const FULL = 0.8;
/** Old outputs alone are left out where this little of the room is taken then; else it would be full again at once. */
const ROOMY = 0.5;
/** How much of the room the newest outputs may keep then. */
const OUTPUTS = 0.25;
/** A conversation of this part of the room or less is left as it is. */
const LEAST = 0.25;
const MOST_KEPT = 16_000;

/** So often a conversation is made shorter between two answers of the model. After that it does not fit. */
export const MAX_SQUEEZES = 3;

type Capacity = Pick<ModelWork, "context_tokens" | "max_output_tokens">;

/** What a summariser answers: the text, or why there is none. */
export type Summary = { text: string } | "interrupted" | "overflow" | "failed";

export interface Crowd {
  entries: readonly Entry[];
  capacity: Capacity;
  /** About how long the next request would be. */
  tokens: number;
  /** How often it was made shorter since the model last answered: each time less is kept. */
  squeezes: number;
  /** Absent where no call can be spent on it. */
  summarise?: ((transcript: string) => Promise<Summary>) | undefined;
}

/** Whether a conversation is to be made shorter before the next call. One that is short already cannot be the reason. */
export function isFull(
  capacity: Capacity,
  { request, conversation }: { request: number; conversation: number },
) {
  const room = usable(capacity);
  return request > FULL * room && conversation > LEAST * room;
}

/** The tokens that are left to a conversation when room for the answer is set aside. */
function usable({ context_tokens, max_output_tokens = ANSWER_TOKENS }: Capacity): number {
  return context_tokens - Math.min(max_output_tokens, context_tokens / 2);
}

/**
 * How a conversation is to be made shorter: first by its old outputs alone, then by a summary, and where none can be had
 * by what is left when everything in it is cut down.
 */
export async function compaction(crowd: Crowd): Promise<EventData<"compacted"> | "interrupted"> {
  const { entries, capacity, tokens, squeezes } = crowd;
  const room = usable(capacity);
  const outputs = Math.ceil(OUTPUTS * room);
  const freed = sizeOf(entries) - sizeOf(pruned(entries, outputs));
  if (squeezes === 0 && tokens - freed <= ROOMY * room) return { summary: "", kept_tokens: outputs };
  const kept_tokens = Math.ceil(Math.min(MOST_KEPT, room / 8) / 4 ** squeezes);
  const before = summarised(entries, kept_tokens);
  if (before.length === 0) return { summary: "", kept_tokens };
  const summary = await written(crowd, before, room);
  if (summary === "interrupted") return summary;
  // The user's messages are kept as they are.
  const own = before.filter((entry) => entry.type === "done" || entry.isNote);
  const rest = `No summary could be made. This is left of it:\n\n${transcript(own, kept_tokens)}`;
  return { summary: summary ? ends(summary, bytesIn(room / 8)) : rest, kept_tokens };
}

async function written({ summarise }: Crowd, before: readonly Entry[], room: number) {
  if (!summarise) return undefined;
  for (const part of [0.8, 0.3]) {
    const summary = await summarise(transcript(before, part * room));
    if (summary === "interrupted") return summary;
    if (summary === "failed") return undefined;
    if (summary !== "overflow") return summary.text.trim();
  }
  return undefined;
}

function sizeOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + tokensOf(entry), 0);
}
