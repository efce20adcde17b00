import type { EventData, SentFile } from "@outrider/contract/event";
import { noUsage, type RunUsage } from "@outrider/contract/run";
import type { ModelMessage } from "ai";
import { AttachmentPaths } from "./attachments.ts";
import { callsIn, compacted, type Plan } from "./compact.ts";
import { type Entry, type Heard, type ImageRef, imagesOf, tokensOf } from "./entry.ts";
import type { LogEvent } from "./event.ts";
import { messagesOf, type Shown } from "./messages.ts";
import {
  cancelledNote,
  failedNote,
  interruptedNote,
  isLimitCode,
  type LimitCode,
  missingAnswerNote,
  recoveredNote,
  wrapUpNote,
} from "./notes.ts";
import { Step } from "./step.ts";
import { FINISH, UNFIT } from "./tools/finish.ts";

/** Where the agent has nothing left to do: it asks, it gave its answer by the tool for it, or it said its last words. */
export type AgentEnd =
  | { type: "question"; question: string }
  | { type: "answer"; input: unknown; words: string }
  | { type: "words"; words: string };

/** What is told to an agent that ends in words where its answer must have a form. */
export const ANSWER_MISSING = "answer_missing";

/**
 * The log as the model reads it, and what the loop must know of it. A live turn adds its own events as it writes them,
 * so that a turn which begins anew after a crash reads the very same conversation.
 *
 * What one model call brought stands in the log as `reasoning`, `message.agent`, `usage.updated`, then its tool calls
 * with their results. Only the agent's last words come after the usage of their call: a log that breaks off behind a
 * `message.agent` tells by this whether the agent had finished. What users and Outrider say waits until the calls before
 * it are closed, wherever it reached the log.
 */
export class Conversation {
  private entries: Entry[] = [];
  private size = 0;
  private readonly mustFinish: boolean;
  private readonly attachments = new AttachmentPaths();
  private readonly delivered = new Set<string>();
  private readonly notices = new Set<string>();
  /** When each call was answered; the turn's own events have no number and are the latest. */
  private answeredAt: number[] = [];
  private waiting: Heard[] = [];
  private step = new Step();
  private calls = 0;
  private usage = noUsage;
  private plan: Plan = [];
  /** How many calls compaction has taken out of the conversation. */
  private gone = 0;

  /** What earlier turns used. */
  usageBefore: RunUsage = noUsage;
  /** How this turn was begun, if it was. */
  started: EventData<"run.started"> | undefined;
  /** The limit for which this turn was told to wrap up. */
  wrapUp: LimitCode | undefined;
  /** What was wrong, each time that the agent of this turn gave an answer of the wrong form, or none. */
  corrections: string[] = [];

  constructor(history: readonly LogEvent[], { mustFinish = false } = {}) {
    this.mustFinish = mustFinish;
    for (const event of history) this.add(event);
  }

  add(event: LogEvent) {
    const { seq = Number.POSITIVE_INFINITY } = event;
    switch (event.type) {
      case "run.created":
        return this.hearUser(event.data.prompt, event.data.attachments);
      case "message.user":
        return this.addMessage(event.data);
      case "run.started":
        this.started = event.data;
        return;
      case "reasoning":
        return this.beginStep();
      case "message.agent":
        this.beginStep({ words: true });
        return this.step.say(event.data.text);
      case "usage.updated":
        return this.addUsage(event.data);
      case "command.started":
        // The agent learns of it by the tools that started it and read it.
        if (event.data.background) return;
        this.calls += 1;
        return this.step.command(event.data);
      case "command.output":
        return this.step.commandOutput(event.data);
      case "command.finished":
        if (this.step.commandFinished(event.data)) this.answeredAt.push(seq);
        return;
      case "tool.called":
        this.calls += 1;
        return this.step.call(event.data);
      case "tool.returned":
        if (this.step.returned(event.data)) this.answeredAt.push(seq);
        return this.noteRefusal(event.data);
      case "plan.updated":
        this.plan = event.data.steps;
        return;
      case "compacted":
        return this.compact(event.data);
      case "notice":
        return this.addNotice(event.data);
      case "run.recovering":
        return this.recover(event.data);
      case "run.claimed":
        return this.goOn();
      case "run.failed":
        return this.endTurn(failedNote(event.data.status_message.message));
      case "run.cancelled":
        return this.endTurn(cancelledNote);
      case "run.succeeded":
      case "run.blocked":
        return this.endTurn();
    }
  }

  /** What the next model call is given. */
  read(shown: Shown = new Map()): ModelMessage[] {
    this.close();
    return this.entries.flatMap((entry) => messagesOf(entry, shown));
  }

  /** The same before it takes a model's form. */
  all(): readonly Entry[] {
    this.close();
    return this.entries;
  }

  get images(): ImageRef[] {
    return this.all().flatMap(imagesOf);
  }

  /** About how long it is. */
  get tokens(): number {
    this.close();
    return this.size;
  }

  /** Also where only the report of the end was lost. */
  get end(): AgentEnd | undefined {
    if (this.waiting.length > 0) return undefined;
    const { question, finished, lastWords } = this.step;
    if (finished) return { type: "answer", ...finished };
    if (question !== undefined) return { type: "question", question };
    return lastWords === undefined ? undefined : { type: "words", words: lastWords };
  }

  hasNotice(message: string): boolean {
    return this.notices.has(message);
  }

  /** Unique in the run. The ids that models give are not always. */
  nextCallId(): string {
    return `call-${this.calls + 1}`;
  }

  private hear(text: string) {
    this.waiting.push({ type: "heard", text, isNote: true, files: [] });
  }

  private hearUser(text: string, files: readonly SentFile[] = []) {
    const placed = files.map((file) => ({ ...file, path: this.attachments.place(file.file_name) }));
    this.waiting.push({ type: "heard", text, isNote: false, files: placed });
  }

  private addMessage({ text, followup_id, attachments }: EventData<"message.user">) {
    if (this.delivered.has(followup_id)) return;
    this.delivered.add(followup_id);
    this.hearUser(text, attachments);
  }

  private noteRefusal({ tool, output, is_error }: EventData<"tool.returned">) {
    if (tool === FINISH && is_error && output.startsWith(UNFIT)) this.corrections.push(output);
  }

  private compact(data: EventData<"compacted">) {
    const before = this.all();
    const { plan, gone } = this;
    this.entries = [];
    this.size = 0;
    this.push(...compacted(before, data, { plan, gone }));
    this.gone += callsIn(before) - callsIn(this.entries);
    // The call that wrote the summary is no step of the agent.
    this.step = new Step();
  }

  private addUsage(usage: RunUsage) {
    this.usage = usage;
    if (this.step.hasOpenCalls) return;
    this.beginStep();
    this.step.count();
  }

  private addNotice({ message, code }: EventData<"notice">) {
    this.notices.add(message);
    if (code === "interrupted") this.hear(interruptedNote);
    if (code === ANSWER_MISSING) {
      this.corrections.push(message);
      this.hear(missingAnswerNote);
    }
    if (!isLimitCode(code)) return;
    this.wrapUp = code;
    this.hear(wrapUpNote(code, { mustFinish: this.mustFinish }));
  }

  /** Somebody begins or goes on; where the log says no more than this, files are as they were. */
  private goOn() {
    if (this.step.isCutOff) this.hear(recoveredNote("another worker has taken it over.", 0));
    this.close();
  }

  /** Without a snapshot the workspace is empty again. */
  private recover({ reason, restored_seq = 0 }: EventData<"run.recovering">) {
    const kept = this.answeredAt.filter((seq) => seq <= restored_seq);
    const lost = this.answeredAt.length - kept.length;
    this.answeredAt = kept;
    if (this.step.isCutOff || lost > 0) this.hear(recoveredNote(reason, lost));
    this.close();
  }

  private endTurn(note?: string) {
    this.close();
    this.step = new Step();
    if (note) this.hear(note);
    this.started = undefined;
    this.wrapUp = undefined;
    this.corrections = [];
    this.usageBefore = this.usage;
  }

  /** Words may still follow the usage of their call. */
  private beginStep({ words = false } = {}) {
    const goesOn = words ? this.step.mayStillSpeak : !this.step.isOver;
    if (goesOn && this.waiting.length === 0) return;
    this.close();
    this.step = new Step();
  }

  private close() {
    const done = this.step.take();
    if (done) this.push(done);
    if (this.waiting.length === 0) return;
    this.push(...this.waiting);
    this.waiting = [];
    this.step = new Step();
  }

  private push(...entries: Entry[]) {
    this.entries.push(...entries);
    for (const entry of entries) this.size += tokensOf(entry);
  }
}
