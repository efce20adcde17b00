import type { EventData } from "@outrider/contract/event";
import { noUsage, type RunUsage } from "@outrider/contract/run";
import type { TurnOutcome } from "@outrider/contract/worker";
import type { ModelMessage } from "ai";
import type { LogEvent } from "./event.ts";
import {
  cancelledNote,
  failedNote,
  interruptedNote,
  isLimitCode,
  type LimitCode,
  recoveredNote,
  wrapUpNote,
} from "./notes.ts";
import { Step } from "./step.ts";
import { limitEnd } from "./usage.ts";

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
  private readonly messages: ModelMessage[] = [];
  private readonly delivered = new Set<string>();
  private readonly notices = new Set<string>();
  /** When each call was answered; the turn's own events have no number and are the latest. */
  private answeredAt: number[] = [];
  private waiting: string[] = [];
  private step = new Step();
  private calls = 0;
  private usage = noUsage;

  /** What earlier turns used. */
  usageBefore: RunUsage = noUsage;
  /** How this turn was begun, if it was. */
  started: EventData<"run.started"> | undefined;
  /** The limit for which this turn was told to wrap up. */
  wrapUp: LimitCode | undefined;

  constructor(history: readonly LogEvent[]) {
    for (const event of history) this.add(event);
  }

  add(event: LogEvent) {
    const { seq = Number.POSITIVE_INFINITY } = event;
    switch (event.type) {
      case "run.created":
        return this.hear(event.data.prompt);
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
        return;
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
  read(): ModelMessage[] {
    this.close();
    return [...this.messages];
  }

  /** How the turn ends where the agent has nothing left to do; also where only the report of it was lost. */
  get ended(): TurnOutcome | undefined {
    if (this.waiting.length > 0) return undefined;
    const { question, lastWords } = this.step;
    if (question !== undefined) return { type: "blocked", question };
    if (lastWords === undefined) return undefined;
    return this.wrapUp ? limitEnd(this.wrapUp) : { type: "succeeded", text: lastWords };
  }

  hasNotice(message: string): boolean {
    return this.notices.has(message);
  }

  /** Unique in the run. The ids that models give are not always. */
  nextCallId(): string {
    return `call-${this.calls + 1}`;
  }

  private hear(text: string) {
    this.waiting.push(text);
  }

  private addMessage({ text, followup_id }: EventData<"message.user">) {
    if (this.delivered.has(followup_id)) return;
    this.delivered.add(followup_id);
    this.hear(text);
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
    if (!isLimitCode(code)) return;
    this.wrapUp = code;
    this.hear(wrapUpNote(code));
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
    this.messages.push(...this.step.take());
    if (this.waiting.length === 0) return;
    this.messages.push(...this.waiting.map((text) => ({ role: "user" as const, content: text })));
    this.waiting = [];
    this.step = new Step();
  }
}
