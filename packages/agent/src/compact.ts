import type { EventData } from "@outrider/contract/event";
import { type Done, type DoneCall, type Entry, type Heard, IMAGE_TOKENS, tokensOf } from "./entry.ts";
import { compactedNote, readNote } from "./notes.ts";
import { ends } from "./output.ts";
import { bytesIn, tokensIn } from "./tokens.ts";

/**
 * How a conversation is made shorter. These are functions of the entries alone, so that a log which holds a `compacted`
 * event is rebuilt to the very same conversation.
 */

export type Plan = EventData<"plan.updated">["steps"];

/** Where the event does not say it. */
const KEPT_TOKENS = 8_000;

export function compacted(
  entries: readonly Entry[],
  { summary, kept_tokens = KEPT_TOKENS }: EventData<"compacted">,
  { plan, gone }: { plan: Plan; gone: number },
): Entry[] {
  if (summary === "") return pruned(entries, kept_tokens);
  const from = tailStart(entries, kept_tokens);
  const before = entries.slice(0, from);
  const text = compactedNote({ summary, plan: planText(plan), gone: gone + callsIn(before) });
  return [
    ...keptMessages(before, kept_tokens),
    { type: "heard", text, isNote: true, files: [] },
    ...pruned(entries.slice(from), kept_tokens),
  ];
}

/** What a summary would replace. */
export function summarised(entries: readonly Entry[], kept: number): readonly Entry[] {
  return entries.slice(0, tailStart(entries, kept));
}

export function callsIn(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + (entry.type === "done" ? entry.calls.length : 0), 0);
}

/** Of the outputs only the newest stay whole. What the agent has not read yet, in the last entry, stays in part. */
export function pruned(entries: readonly Entry[], kept: number): Entry[] {
  const last = entries.length - 1;
  let left = kept;
  const prunedCall = (call: DoneCall, mayVanish: boolean): DoneCall => {
    const size = tokensIn(call.output) + call.images.length * IMAGE_TOKENS;
    const room = Math.max(0, left);
    left -= size;
    if (size <= room) return call;
    if (mayVanish) return isShort(call) ? call : { ...call, output: leftOut(call.output), images: [] };
    return { ...call, output: ends(call.output, bytesIn(Math.max(room, kept / 4) / 2)) };
  };
  return entries
    .map((entry, index) => ({ entry, index }))
    .reverse()
    .map(({ entry, index }): Entry => {
      if (entry.type === "heard") return index === last ? shortened(entry, kept) : entry;
      const calls = [...entry.calls].reverse().map((call) => prunedCall(call, index !== last));
      return calls.every((call) => entry.calls.includes(call)) ? entry : { ...entry, calls: calls.reverse() };
    })
    .reverse();
}

/**
 * As many of the last entries as fit; the very last in any case, for nobody has answered it yet. Never the notes of an
 * earlier compaction: the new ones take their place.
 */
function tailStart(entries: readonly Entry[], kept: number): number {
  let left = kept;
  for (let index = entries.length - 1; index > 0; index -= 1) {
    const entry = entries[index] as Entry;
    left -= tokensOf(entry);
    if (left < 0 || isSummary(entry)) return Math.min(index + 1, entries.length - 1);
  }
  return 0;
}

function isSummary(entry: Entry): boolean {
  return entry.type === "heard" && entry.isNote && readNote(entry.text)?.kind === "compacted";
}

/** The first message is the task. Of the others the newest matter most. */
function keptMessages(before: readonly Entry[], kept: number): Heard[] {
  const messages = before.filter((entry): entry is Heard => entry.type === "heard" && !entry.isNote);
  const [first, ...others] = messages;
  if (!first) return [];
  const task = shortened(first, kept / 2);
  let left = kept - tokensOf(task);
  const newest: Heard[] = [];
  for (const message of others.reverse()) {
    left -= tokensOf(message);
    if (left < 0) break;
    newest.unshift(message);
  }
  return [task, ...newest];
}

function shortened(heard: Heard, tokens: number): Heard {
  if (tokensOf(heard) <= tokens) return heard;
  return { ...heard, text: ends(heard.text, bytesIn(tokens) / 2) };
}

/** To leave these out would save nothing. */
function isShort({ output, images }: DoneCall): boolean {
  return images.length === 0 && output.length < 200;
}

function leftOut(output: string): string {
  return `[${Buffer.byteLength(output)} bytes of output were left out to save room]`;
}

function planText(plan: Plan): string {
  return plan.map(({ text, state }) => `- ${text} (${state})`).join("\n");
}

/** The entries as a text that fits into so many tokens: outputs give way first. */
export function transcript(entries: readonly Entry[], tokens: number): string {
  const bytes = bytesIn(tokens);
  for (let each = 8_000; each > 200; each /= 2) {
    const text = entries.map((entry) => entryText(entry, each)).join("\n\n");
    if (Buffer.byteLength(text) <= bytes) return text;
  }
  return ends(entries.map((entry) => entryText(entry, 200)).join("\n\n"), bytes / 2);
}

function entryText(entry: Entry, each: number): string {
  if (entry.type === "heard") {
    const files = entry.files.map(({ path }) => `\n(with the file ${path})`).join("");
    return `## ${entry.isNote ? "Outrider" : "User"}\n${ends(entry.text, 2 * each)}${files}`;
  }
  return stepText(entry, each);
}

function stepText({ words, calls }: Done, each: number): string {
  const said = words === "" ? [] : [`## Agent\n${ends(words, each)}`];
  const called = calls.map(
    ({ tool, input, output, isError }) =>
      `## Agent called ${tool}\n${ends(JSON.stringify(input), each / 2)}\n### ${isError ? "Error" : "Result"}\n${ends(output, each / 2)}`,
  );
  return [...said, ...called].join("\n\n");
}
