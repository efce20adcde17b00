import { isDeepStrictEqual } from "node:util";
import { parseNote } from "../../src/conversation/notes.ts";
import type { ParsedCall, ParsedRequest, ParsedTool, Reply } from "./dialect.ts";
import { toolNamed } from "./tools.ts";

/** One response of the model: reasoning and text, then tool calls. */
interface Step {
  think: string[];
  say: string[];
  calls: ScriptCall[];
  delayMs: number;
}

interface ScriptCall {
  tool: string;
  input: object;
}

export type Plan = Pick<Reply, "thinking" | "text" | "calls"> & { delayMs: number };

/** The progress that the model reports in a summary, so that a script survives compaction. */
const progress = /\[(\d+) calls of the script are done\]/g;

/**
 * Computes the next reply. User messages are the script, one step per line; the calls so far determine the position:
 *
 *   THINK: text    SAY: text    RUN: command    WRITE: path | text    CALL: tool {json}    ASK: question    SLEEP: ms
 *
 * A call ends a reply; a line that starts with "+" belongs to the same reply as the call before it. At the end of the
 * script, the reply contains the last outputs and other user messages.
 */
export function nextReply(parsed: ParsedRequest): Plan {
  const { steps, spoken } = readMessages(parsed);
  const done = callsDone(parsed, steps);
  const lastResults = trailingResults(parsed);
  if (!parsed.mayCall || parsed.tools.length === 0) return plain(summary(steps, done));
  const step = remaining(steps, done);
  if (step && step.calls.length > 0) return planOf(step);
  const texts = step ? [...step.say] : [];
  const otherMessages = spoken.map((text) => `Heard: ${text}`);
  const parts = [...(texts.length > 0 ? texts : ["Done.", ...lastResults]), ...otherMessages];
  return {
    ...plain(continued(parts.join("\n"), parsed)),
    thinking: (step?.think ?? []).join("\n"),
    delayMs: step?.delayMs ?? 0,
  };
}

/** Continues a text that was cut off at the output limit, if the last note asks for it. */
function continued(whole: string, { messages }: ParsedRequest): string {
  let before = "";
  for (let index = messages.length - 1; index > 0; index -= 2) {
    const [answer, note] = [messages[index - 1], messages[index]];
    if (note?.role !== "user" || parseNote(note.text)?.kind !== "answer cut") break;
    if (answer?.role === "assistant") before = answer.text + before;
  }
  return whole.startsWith(before) ? whole.slice(before.length) : whole;
}

function plain(text: string): Plan {
  return { thinking: "", text, calls: [], delayMs: 0 };
}

function planOf({ think, say, calls, delayMs }: Step): Plan {
  const made = calls.map(({ tool, input }) => ({ name: tool, input }));
  return { thinking: think.join("\n"), text: say.join("\n"), calls: made, delayMs };
}

function summary(steps: Step[], done: number): string {
  const all = steps.reduce((sum, { calls }) => sum + calls.length, 0);
  return `I may call no tools now: ${all - done} calls are left undone. [${done} calls of the script are done]`;
}

function readMessages({ messages, tools }: ParsedRequest): { steps: Step[]; spoken: string[] } {
  const steps: Step[] = [];
  let spoken: string[] = [];
  for (const message of messages) {
    if (message.role !== "user" || parseNote(message.text)) continue;
    const read = parse(message.text, tools);
    if (read.length === 0) spoken.push(message.text);
    else spoken = [];
    steps.push(...read);
  }
  return { steps, spoken };
}

function parse(text: string, tools: ParsedTool[]): Step[] {
  const steps: Step[] = [];
  let step = emptyStep();
  for (const line of text.split(/\r?\n/)) {
    const [, joined, keyword = "", rest = ""] = /^\s*(\+?)\s*([A-Z]+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (!keywords.has(keyword)) continue;
    if (step.calls.length > 0 && !joined) {
      steps.push(step);
      step = emptyStep();
    }
    if (keyword === "THINK") step.think.push(rest);
    else if (keyword === "SAY") step.say.push(rest);
    else if (keyword === "SLEEP") step.delayMs += Number(rest) || 0;
    else step.calls.push(callOf(keyword, rest, tools));
  }
  return isDeepStrictEqual(step, emptyStep()) ? steps : [...steps, step];
}

const keywords = new Set(["THINK", "SAY", "RUN", "WRITE", "CALL", "ASK", "SLEEP"]);

function emptyStep(): Step {
  return { think: [], say: [], calls: [], delayMs: 0 };
}

function callOf(keyword: string, rest: string, tools: ParsedTool[]): ScriptCall {
  if (keyword === "CALL") {
    const [, tool = "nothing", json = "{}"] = /^(\S+)\s*(\S.*)?$/.exec(rest) ?? [];
    return { tool, input: objectOf(json) };
  }
  const [first = "", ...more] = keyword === "WRITE" ? rest.split("|") : [rest];
  const values = keyword === "WRITE" ? [first.trim(), decodeEscapes(more.join("|").trim())] : [first];
  return toolNamed(keyword as "RUN" | "WRITE" | "ASK", values, tools);
}

function objectOf(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? value : { value };
  } catch {
    return { unparsable: json };
  }
}

function decodeEscapes(text: string): string {
  return text.replaceAll("\\n", "\n").replaceAll("\\t", "\t");
}

/** How many calls of the script have their results. One whose arguments nobody could read does not count. */
function callsDone({ messages }: ParsedRequest, steps: Step[]): number {
  const script = steps.flatMap(({ calls }) => calls);
  const open: ParsedCall[] = [];
  let done = 0;
  let isSummarized = false;
  for (const message of messages) {
    for (const [, count] of message.role === "result" ? [] : message.text.matchAll(progress)) {
      done = Math.max(done, Number(count));
      isSummarized = true;
    }
    // A note on a conversation that was made shorter says how many calls were removed.
    const note = message.role === "user" ? parseNote(message.text) : undefined;
    if (note?.kind === "compacted") {
      done = Math.max(done, note.removedCalls);
      isSummarized = true;
    }
    if (message.role === "assistant") open.push(...message.calls);
    if (message.role !== "result") continue;
    const call = open.shift();
    const next = script[done];
    if (!call || !next || call.name !== next.tool || !isReadable(call.input)) continue;
    if (!isSummarized || isDeepStrictEqual(call.input, next.input)) done += 1;
  }
  return done;
}

function isReadable(input: unknown): boolean {
  return typeof input === "object" && input !== null && !("unreadable" in input) && !("wrong" in input);
}

function remaining(steps: Step[], done: number): Step | undefined {
  let left = done;
  for (const step of steps) {
    if (step.calls.length > left) return { ...step, calls: step.calls.slice(left) };
    left -= step.calls.length;
    if (step.calls.length === 0 && step === steps.at(-1)) return step;
  }
  return undefined;
}

function trailingResults({ messages }: ParsedRequest): string[] {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  return messages.slice(last + 1).flatMap((one) => (one.role === "result" ? [one.text] : []));
}
