/**
 * Rebuilds the agent's conversation from the run's log.
 *
 * The log is a run's only memory. A turn replays all earlier events and then adds its own events as it emits them, so a
 * turn that restarts after a crash reads exactly the same conversation.
 *
 * The events of one model call have a fixed order: `reasoning`, `message.agent`, `usage.updated`, then each tool call
 * with its result. The one exception is the agent's final message, which follows the `usage.updated` of its call. If
 * the log ends after a `message.agent`, this order shows whether the agent had finished.
 *
 * Invariants:
 * - A message entry never separates a tool call from its result. Messages and notes wait in `pending` until the current
 *   step is closed, wherever they appear in the log.
 * - A tool call without a result in the log gets the result OUTCOME_UNKNOWN.
 * - A follow-up message is added once, even if its event arrives twice.
 * - Call ids are unique within the run, because they come from a counter and not from the model.
 */

import type { EventData, SentFile } from "@outrider/contract/event";
import type { Replay } from "@outrider/contract/private-data";
import { type RunUsage, zeroUsage } from "@outrider/contract/run";
import type { ModelMessage } from "ai";
import { AttachmentPaths } from "../attachments.ts";
import type { LogEvent } from "../event.ts";
import { FINISH, INVALID_ANSWER } from "../tools/finish.ts";
import { applyCompaction, countCalls, type Plan } from "./apply-compaction.ts";
import { type Entry, type ImageRef, imagesOf, type MessageEntry, tokensOf } from "./entry.ts";
import { type ImageData, toMessages } from "./messages.ts";
import {
  cancelledNote,
  failedNote,
  interruptedNote,
  isLimitCode,
  isResponseProblem,
  type LimitCode,
  LOOP_DETECTED,
  missingAnswerNote,
  problemNotes,
  type ResponseProblem,
  recoveredNote,
  repeatedCallsNote,
  wrapUpNote,
} from "./notes.ts";
import { Step } from "./step.ts";

/** The reason why the agent stopped working: it asked a question, called `finish`, or sent its final message. */
export type AgentEnd =
  | { type: "question"; question: string }
  | { type: "answer"; input: unknown; text: string }
  | { type: "message"; text: string };

/** The notice code for an agent that ends with a text message although the run requires a structured answer. */
export const ANSWER_MISSING = "answer_missing";

/** The notice code for a final message that was cut off at the model's output limit. */
export const ANSWER_CUT = "answer_cut";

export type { ResponseProblem } from "./notes.ts";

export class Conversation {
  #entries: Entry[] = [];
  #entryTokens = 0;
  readonly #mustFinish: boolean;
  readonly #attachmentPaths = new AttachmentPaths();
  readonly #delivered = new Set<string>();
  readonly #notices = new Set<string>();
  /**
   * The sequence number of each call's result. The turn's own events have no sequence number yet and are treated as the
   * latest.
   */
  #resultSeqs: number[] = [];
  /** Messages and notes that will be added when the current step is closed. */
  #pending: MessageEntry[] = [];
  #step = new Step();
  #calls = 0;
  #usage = zeroUsage;
  #plan: Plan = [];
  /** How often each problem has occurred since the last result of a tool. */
  readonly #problems = new Map<ResponseProblem, number>();
  /** The parts of the final message that were cut off at the output limit. The model continues them. */
  #continuedText = "";
  /** The number of calls that compaction removed. */
  #removedCalls = 0;

  /** The usage of earlier turns. */
  usageBefore: RunUsage = zeroUsage;
  /** The `run.started` event of this turn, if it has one. */
  started: EventData<"run.started"> | undefined;
  /** The limit that caused the agent to be asked to wrap up in this turn. */
  wrapUp: LimitCode | undefined;
  /** Describes the problem with each missing or invalid answer in this turn. */
  corrections: string[] = [];

  constructor(history: readonly LogEvent[], { mustFinish = false } = {}) {
    this.#mustFinish = mustFinish;
    for (const event of history) this.add(event);
  }

  add(event: LogEvent) {
    const { seq = Number.POSITIVE_INFINITY } = event;
    switch (event.type) {
      case "run.created":
        return this.#addUserMessage(event.data.prompt, event.data.attachments);
      case "message.user":
        return this.#addFollowup(event.data);
      case "run.started":
        this.started = event.data;
        return;
      case "reasoning":
        this.#beginStep();
        return this.#step.setReasoning(event.data.text);
      case "message.agent":
        this.#beginStep({ forText: true });
        return this.#step.setText(event.data.text);
      case "usage.updated":
        return this.#addUsage(event.data, event.private?.replay);
      case "command.started":
        // The agent learns about a background command from the tools that start and read it.
        if (event.data.background) return;
        this.#countCall();
        return this.#step.addCommand(event.data);
      case "command.output":
        return this.#step.addCommandOutput(event.data);
      case "command.finished":
        if (this.#step.setCommandResult(event.data)) this.#resultSeqs.push(seq);
        return;
      case "tool.called":
        this.#countCall();
        return this.#step.addCall(event.data);
      case "tool.returned":
        if (this.#step.setToolResult(event.data)) this.#resultSeqs.push(seq);
        return this.#countInvalidAnswer(event.data);
      case "plan.updated":
        this.#plan = event.data.steps;
        return;
      case "compacted":
        return this.#compact(event.data);
      case "notice":
        return this.#addNotice(event.data);
      case "run.recovering":
        return this.#recover(event.data);
      case "run.claimed":
        return this.#resume();
      case "run.failed":
        return this.#endTurn(failedNote(event.data.status_message.message));
      case "run.cancelled":
        return this.#endTurn(cancelledNote);
      case "run.succeeded":
      case "run.blocked":
        return this.#endTurn();
    }
  }

  /** Returns the messages for the next call of the model with this replay key. Only its own reasoning is included. */
  toMessages(images: ImageData = new Map(), model = ""): ModelMessage[] {
    this.#closeStep();
    return this.#entries.flatMap((entry) => toMessages(entry, images, model));
  }

  /** Returns the entries that the next model call would read. */
  allEntries(): readonly Entry[] {
    this.#closeStep();
    return this.#entries;
  }

  get images(): ImageRef[] {
    return this.allEntries().flatMap(imagesOf);
  }

  /** The estimated size of the conversation in tokens. */
  get tokens(): number {
    this.#closeStep();
    return this.#entryTokens;
  }

  /** How the agent ended its work, if it has done so. This includes an end that was logged but never reported. */
  get end(): AgentEnd | undefined {
    if (this.#pending.length > 0) return undefined;
    const { question, finish, finalText } = this.#step;
    if (finish) return { type: "answer", ...finish };
    if (question !== undefined) return { type: "question", question };
    return finalText === undefined ? undefined : { type: "message", text: this.#continuedText + finalText };
  }

  /** Returns how often in a row the model's responses had this problem. */
  problemCount(problem: ResponseProblem): number {
    return this.#problems.get(problem) ?? 0;
  }

  hasNotice(message: string): boolean {
    return this.#notices.has(message);
  }

  /** Returns an ID that is unique within the run, because IDs from models are not always unique. */
  nextCallId(): string {
    return `call-${this.#calls + 1}`;
  }

  #countCall() {
    this.#calls += 1;
    this.#forgetProblems();
  }

  #forgetProblems() {
    this.#problems.clear();
    this.#continuedText = "";
  }

  #addNote(text: string) {
    this.#pending.push({ type: "message", text, isNote: true, files: [] });
  }

  #addUserMessage(text: string, attachments: readonly SentFile[] = []) {
    const files = attachments.map((file) => ({
      ...file,
      path: this.#attachmentPaths.assign(file.file_name),
    }));
    this.#pending.push({ type: "message", text, isNote: false, files });
  }

  #addFollowup({ text, followup_id, attachments }: EventData<"message.user">) {
    if (this.#delivered.has(followup_id)) return;
    this.#delivered.add(followup_id);
    this.#forgetProblems();
    this.#addUserMessage(text, attachments);
  }

  #countInvalidAnswer({ tool, output, is_error }: EventData<"tool.returned">) {
    if (tool === FINISH && is_error && output.startsWith(INVALID_ANSWER)) this.corrections.push(output);
  }

  #compact(data: EventData<"compacted">) {
    const before = this.allEntries();
    const plan = this.#plan;
    const removedCalls = this.#removedCalls;
    this.#entries = [];
    this.#entryTokens = 0;
    this.#push(...applyCompaction(before, data, { plan, removedCalls }));
    this.#removedCalls += countCalls(before) - countCalls(this.#entries);
    // The call that wrote the summary is not one of the agent's steps.
    this.#step = new Step();
  }

  #addUsage(usage: RunUsage, replay: Replay | undefined) {
    this.#usage = usage;
    if (this.#step.hasOpenCalls) return;
    this.#beginStep();
    this.#step.markUsage(replay);
  }

  #addNotice({ message, code }: EventData<"notice">) {
    this.#notices.add(message);
    if (code === "interrupted") this.#addNote(interruptedNote);
    if (code === LOOP_DETECTED) this.#addNote(repeatedCallsNote);
    if (isResponseProblem(code)) this.#addProblem(code);
    if (code === ANSWER_MISSING) {
      this.#forgetProblems();
      this.corrections.push(message);
      this.#addNote(missingAnswerNote);
    }
    if (!isLimitCode(code)) return;
    this.wrapUp = code;
    this.#addNote(wrapUpNote(code, { mustFinish: this.#mustFinish }));
  }

  /** Adds the note about a response that could not be used as it was. */
  #addProblem(problem: ResponseProblem) {
    this.#problems.set(problem, this.problemCount(problem) + 1);
    if (problem === "answer_continued") this.#continuedText += this.#step.text;
    this.#addNote(problemNotes[problem]);
    // The complete calls before a cut one still follow. All other responses have ended.
    if (problem !== "call_cut") this.#closeStep();
  }

  /**
   * Adds a note if a worker continues after an interrupted step. Without a preceding `run.recovering` event, no file
   * changes were lost.
   */
  #resume() {
    if (this.#step.isCutOff) this.#addNote(recoveredNote("another worker has taken over.", 0));
    this.#closeStep();
  }

  /**
   * Adds a note about lost work. The workspace was restored from the snapshot at `restored_seq`, or is empty if there
   * was no snapshot.
   */
  #recover({ reason, restored_seq = 0 }: EventData<"run.recovering">) {
    const restored = this.#resultSeqs.filter((seq) => seq <= restored_seq);
    const lostCalls = this.#resultSeqs.length - restored.length;
    this.#resultSeqs = restored;
    if (this.#step.isCutOff || lostCalls > 0) this.#addNote(recoveredNote(reason, lostCalls));
    this.#closeStep();
  }

  #endTurn(note?: string) {
    this.#closeStep();
    this.#step = new Step();
    if (note) this.#addNote(note);
    this.started = undefined;
    this.wrapUp = undefined;
    this.corrections = [];
    this.#forgetProblems();
    this.usageBefore = this.#usage;
  }

  /**
   * Opens a new step unless the event belongs to the current one. Text may follow the `usage.updated` event of its own
   * call.
   */
  #beginStep({ forText = false } = {}) {
    const isSameStep = forText ? this.#step.acceptsText : !this.#step.isComplete;
    if (isSameStep && this.#pending.length === 0) return;
    this.#closeStep();
    this.#step = new Step();
  }

  /** Adds the current step and the pending messages to the entries. */
  #closeStep() {
    const entry = this.#step.take();
    if (entry) this.#push(entry);
    if (this.#pending.length === 0) return;
    this.#push(...this.#pending);
    this.#pending = [];
    this.#step = new Step();
  }

  #push(...entries: Entry[]) {
    this.#entries.push(...entries);
    for (const entry of entries) this.#entryTokens += tokensOf(entry);
  }
}
