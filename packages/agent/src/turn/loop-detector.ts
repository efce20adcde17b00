/**
 * Recognizes an agent that repeats itself: the same call with the same result again and again, or two such calls in
 * turns.
 *
 * The detector reads the run's log, like the conversation, so a turn that restarts after a crash counts on. It compares
 * calls, inputs and results as they are stored. Identical calls of one answer count once, because the agent has not
 * seen a result between them.
 */

import { createHash, type Hash, hash } from "node:crypto";
import type { EventData } from "@outrider/contract/event";
import { LOOP_DETECTED } from "../conversation/notes.ts";
import type { LogEvent } from "../event.ts";
import { RUN_COMMAND } from "../tools/run-command.ts";

/** The number of repetitions after which the agent is warned, and after which its turn ends. */
const failureLimits = { warn: 3, end: 6 };
/** Repeating a successful call is less suspicious: the agent may have forgotten the result. */
const successLimits = { warn: 6, end: 12 };
/** A loop consists of one or two different calls. */
const MAX_PERIOD = 2;
const MAX_RECORDS = MAX_PERIOD * successLimits.end;
const MAX_SHOWN_CHARACTERS = 200;
const MAX_KEY_CHARACTERS = 1_000;

/**
 * Tools whose results depend only on the files and the input. Other tools may be called repeatedly to wait for
 * something.
 */
const unwaitingTools = new Set([
  "read_file",
  "write_file",
  "edit_file",
  "apply_patch",
  "find_files",
  "search_files",
  "update_plan",
  "use_skill",
]);

interface Call {
  id: string;
  tool: string;
  input: unknown;
  key: string;
  /** Identifies the result; undefined while the call runs. */
  result?: string;
  isError: boolean;
}

export interface Loop {
  /** Whether the turn must end. Otherwise, the agent must be warned. */
  isOver: boolean;
  /** Describes the repeated calls to people. */
  message: string;
}

export class LoopDetector {
  /** The latest calls. */
  #calls: Call[] = [];
  /** The number of older calls that are no longer kept. */
  #dropped = 0;
  /** The keys of the current answer's calls. */
  #answerKeys = new Set<string>();
  /** The outputs of running commands, hashed piece by piece, because they may be large. */
  readonly #outputs = new Map<string, Hash>();
  /** The number of calls at the time of the last warning. */
  #warnedAt = -1;

  constructor(history: readonly LogEvent[] = []) {
    for (const event of history) this.add(event);
  }

  add(event: LogEvent) {
    switch (event.type) {
      case "usage.updated":
        this.#answerKeys = new Set();
        return;
      case "tool.called":
        return this.#addCall(event.data.call_id, event.data);
      case "tool.returned":
        return this.#setResult(event.data.call_id, event.data.output, event.data.is_error === true);
      case "command.started":
        if (event.data.background) return;
        return this.#addCall(event.data.command_id, {
          tool: RUN_COMMAND,
          input: { command: event.data.command },
        });
      case "command.output":
        return this.#addOutput(event.data);
      case "command.finished":
        return this.#endCommand(event.data);
      case "notice":
        if (event.data.code === LOOP_DETECTED) this.#warnedAt = this.#dropped + this.#calls.length;
        return;
      case "message.user":
      case "run.reopened":
        // A user's message can be a reason to try again.
        this.#reset();
    }
  }

  /** Returns the loop that the agent is in, if it must now be warned or ended. */
  check(): Loop | undefined {
    for (let period = 1; period <= MAX_PERIOD; period += 1) {
      const loop = this.#checkPeriod(period);
      if (loop) return loop;
    }
    return undefined;
  }

  #checkPeriod(period: number): Loop | undefined {
    const calls = this.#calls;
    const last = calls.slice(-period);
    if (last.length < period || last.some(({ result }) => result === undefined)) return undefined;
    if (period > 1 && new Set(last.map(({ key }) => key)).size === 1) return undefined;
    let start = calls.length - period;
    while (start > 0 && isSame(calls[start - 1], calls[start - 1 + period])) start -= 1;
    const count = Math.floor((calls.length - start) / period);
    const isFailing = last.some(({ isError }) => isError);
    if (!isFailing && !last.every(({ tool }) => unwaitingTools.has(tool))) return undefined;
    const limits = isFailing ? failureLimits : successLimits;
    const isWarned = this.#warnedAt > this.#dropped + start;
    const isOver = isWarned && count >= limits.end;
    if (!isOver && (isWarned || count < limits.warn)) return undefined;
    return { isOver, message: describe(last, count, isFailing) };
  }

  #addCall(id: string, { tool, input }: { tool: string; input: unknown }) {
    const key = shortKey(`${tool}\0${JSON.stringify(input)}`);
    if (this.#answerKeys.has(key)) return;
    this.#answerKeys.add(key);
    this.#calls.push({ id, tool, input, key, isError: false });
    if (this.#calls.length <= MAX_RECORDS) return;
    this.#calls.shift();
    this.#dropped += 1;
  }

  #addOutput({ command_id, text }: EventData<"command.output">) {
    if (!this.#calls.some(({ id }) => id === command_id)) return;
    const output = this.#outputs.get(command_id) ?? createHash("sha256");
    this.#outputs.set(command_id, output.update(withoutTimes(text)));
  }

  #endCommand({ command_id, exit_code, timed_out }: EventData<"command.finished">) {
    const output = this.#outputs.get(command_id)?.digest("base64") ?? "";
    this.#outputs.delete(command_id);
    this.#setResult(command_id, `${exit_code} ${timed_out} ${output}`, exit_code !== 0);
  }

  #setResult(callId: string, output: string, isError: boolean) {
    const call = this.#calls.findLast(({ id }) => id === callId);
    if (call) Object.assign(call, { isError, result: shortKey(`${isError} ${withoutTimes(output)}`) });
  }

  #reset() {
    this.#dropped += this.#calls.length;
    this.#calls = [];
    this.#outputs.clear();
  }
}

function isSame(a: Call | undefined, b: Call | undefined): boolean {
  return a?.key === b?.key && a?.result === b?.result;
}

/**
 * Removes durations and times of day, which differ between otherwise equal outputs. The number of digits is limited,
 * because a long row of digits would otherwise take quadratic time.
 */
function withoutTimes(text: string): string {
  return text.replaceAll(/\d{1,9}(?:\.\d{1,9})?\s?(?:ms|s|sec|seconds)\b|\d\d:\d\d:\d\d(?:\.\d{1,9})?/g, "");
}

/** Returns a text that is equal only for equal texts. Short texts need no hash, which would take longer to compute. */
function shortKey(text: string): string {
  return text.length <= MAX_KEY_CHARACTERS ? text : hash("sha256", text, "base64");
}

function describe(calls: readonly Call[], count: number, isFailing: boolean): string {
  const names = calls.map(({ tool, input }) => `${tool} ${shorten(JSON.stringify(input) ?? "")}`);
  const result = isFailing ? "the same error" : "the same result";
  return names.length === 1
    ? `The agent made the same call ${count} times in a row with ${result}: ${names[0]}`
    : `The agent alternated ${count} times between the same two calls with ${result}: ${names.join(" and ")}`;
}

function shorten(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS)}…`;
}
