/**
 * Applies a compaction to a conversation's entries. `compaction.ts` decides when to compact and writes the summary;
 * this module only rewrites entries. Its functions are pure, so replaying a log that contains a `compacted` event
 * rebuilds exactly the same conversation.
 */

import type { EventData } from "@outrider/contract/event";
import { truncateMiddle } from "../output.ts";
import {
  type CallEntry,
  type Entry,
  IMAGE_TOKENS,
  type MessageEntry,
  type StepEntry,
  tokensOf,
} from "./entry.ts";
import { compactedNote, parseNote } from "./notes.ts";
import { estimateTokens, tokensToBytes } from "./tokens.ts";

export type Plan = EventData<"plan.updated">["steps"];

/** The default for events without `kept_tokens`. */
const DEFAULT_KEPT_TOKENS = 8_000;

/**
 * Returns the entries that remain after a `compacted` event. With an empty summary, only old tool outputs are removed.
 * Otherwise the summary replaces everything but the user's messages and the most recent entries.
 */
export function applyCompaction(
  entries: readonly Entry[],
  { summary, kept_tokens = DEFAULT_KEPT_TOKENS }: EventData<"compacted">,
  { plan, removedCalls }: { plan: Plan; removedCalls: number },
): Entry[] {
  if (summary === "") return pruneOutputs(entries, kept_tokens);
  const tailStart = findTailStart(entries, kept_tokens);
  const replaced = entries.slice(0, tailStart);
  const text = compactedNote({
    summary,
    plan: planText(plan),
    removedCalls: removedCalls + countCalls(replaced),
  });
  return [
    ...selectUserMessages(replaced, kept_tokens),
    { type: "message", text, isNote: true, files: [] },
    ...pruneOutputs(entries.slice(tailStart), kept_tokens),
  ];
}

/** Returns the entries that a summary would replace. */
export function entriesToSummarize(entries: readonly Entry[], keptTokens: number): readonly Entry[] {
  return entries.slice(0, findTailStart(entries, keptTokens));
}

export function countCalls(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + (entry.type === "step" ? entry.calls.length : 0), 0);
}

/**
 * Keeps the newest tool outputs, up to `keptTokens`, and removes older ones. The agent has not read the last entry yet,
 * so that entry's outputs are only shortened.
 */
export function pruneOutputs(entries: readonly Entry[], keptTokens: number): Entry[] {
  const last = entries.length - 1;
  let left = keptTokens;
  const pruneCall = (call: CallEntry, mayRemove: boolean): CallEntry => {
    const tokens = estimateTokens(call.output) + call.images.length * IMAGE_TOKENS;
    const available = Math.max(0, left);
    left -= tokens;
    if (tokens <= available) return call;
    if (mayRemove) return isShort(call) ? call : { ...call, output: removedMarker(call.output), images: [] };
    return {
      ...call,
      output: truncateMiddle(call.output, tokensToBytes(Math.max(available, keptTokens / 4) / 2)),
    };
  };
  return entries
    .map((entry, index) => ({ entry, index }))
    .reverse()
    .map(({ entry, index }): Entry => {
      if (entry.type === "message") return index === last ? shortenMessage(entry, keptTokens) : entry;
      const calls = [...entry.calls].reverse().map((call) => pruneCall(call, index !== last));
      return calls.every((call) => entry.calls.includes(call)) ? entry : { ...entry, calls: calls.reverse() };
    })
    .reverse();
}

/**
 * Returns the index of the first entry to keep. As many of the latest entries as fit are kept, and always the very last
 * one, because the agent has not responded to it yet. An earlier compaction's note is never kept, because the new note
 * replaces it.
 */
function findTailStart(entries: readonly Entry[], keptTokens: number): number {
  let left = keptTokens;
  for (let index = entries.length - 1; index > 0; index -= 1) {
    const entry = entries[index] as Entry;
    left -= tokensOf(entry);
    if (left < 0 || isCompactionNote(entry)) return Math.min(index + 1, entries.length - 1);
  }
  return 0;
}

function isCompactionNote(entry: Entry): boolean {
  return entry.type === "message" && entry.isNote && parseNote(entry.text)?.kind === "compacted";
}

/** Keeps the first message, which is the task, and as many of the newest messages as fit. */
function selectUserMessages(entries: readonly Entry[], keptTokens: number): MessageEntry[] {
  const messages = entries.filter(
    (entry): entry is MessageEntry => entry.type === "message" && !entry.isNote,
  );
  const [first, ...others] = messages;
  if (!first) return [];
  const task = shortenMessage(first, keptTokens / 2);
  let left = keptTokens - tokensOf(task);
  const newest: MessageEntry[] = [];
  for (const message of others.reverse()) {
    left -= tokensOf(message);
    if (left < 0) break;
    newest.unshift(message);
  }
  return [task, ...newest];
}

function shortenMessage(message: MessageEntry, tokens: number): MessageEntry {
  if (tokensOf(message) <= tokens) return message;
  return { ...message, text: truncateMiddle(message.text, tokensToBytes(tokens) / 2) };
}

/** Returns whether an output is too short for its removal to save anything. */
function isShort({ output, images }: CallEntry): boolean {
  return images.length === 0 && output.length < 200;
}

function removedMarker(output: string): string {
  return `[${Buffer.byteLength(output)} bytes of output removed to save context]`;
}

function planText(plan: Plan): string {
  return plan.map(({ text, state }) => `- ${text} (${state})`).join("\n");
}

/** Renders the entries as text of at most `tokens` tokens. Long outputs are shortened first. */
export function renderTranscript(entries: readonly Entry[], tokens: number): string {
  const bytes = tokensToBytes(tokens);
  for (let partBytes = 8_000; partBytes > 200; partBytes /= 2) {
    const text = entries.map((entry) => renderEntry(entry, partBytes)).join("\n\n");
    if (Buffer.byteLength(text) <= bytes) return text;
  }
  return truncateMiddle(entries.map((entry) => renderEntry(entry, 200)).join("\n\n"), bytes / 2);
}

function renderEntry(entry: Entry, partBytes: number): string {
  if (entry.type === "message") {
    const files = entry.files.map(({ path }) => `\n(with the file ${path})`).join("");
    return `## ${entry.isNote ? "Outrider" : "User"}\n${truncateMiddle(entry.text, 2 * partBytes)}${files}`;
  }
  return renderStep(entry, partBytes);
}

function renderStep({ text, calls }: StepEntry, partBytes: number): string {
  const message = text === "" ? [] : [`## Agent\n${truncateMiddle(text, partBytes)}`];
  const results = calls.map(
    ({ tool, input, output, isError }) =>
      `## Agent called ${tool}\n${truncateMiddle(JSON.stringify(input), partBytes / 2)}\n### ${isError ? "Error" : "Result"}\n${truncateMiddle(output, partBytes / 2)}`,
  );
  return [...message, ...results].join("\n\n");
}
