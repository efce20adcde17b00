import { readNote } from "../notes.ts";
import { OUTCOME_UNKNOWN } from "../step.ts";
import { ASK } from "../tools/ask.ts";
import type { Message, Prompt } from "./provider.ts";
import { parseScript, type ScriptStep } from "./script.ts";

/**
 * Where a script stands, found out from the conversation alone: users' messages bring steps, and what the agent said and
 * called since has used them up. So a run goes on at the right step after a crash, and under another worker.
 */
export class ScriptProgress {
  /** What is left to do. */
  pending: ScriptStep[] = [];
  /** Whether the last message was for a script at all. */
  isUnderstood = false;

  private readonly done: ScriptStep[] = [];
  /** Called, but nobody knows whether it took effect: it is done again. */
  private unknown: ScriptStep | undefined;
  private isAnswerExpected = false;
  private isWrappingUp = false;

  constructor(prompt: Prompt) {
    const unknown = unknownCalls(prompt);
    for (const message of prompt) {
      if (message.role === "user") this.hear(textOf(message));
      if (message.role === "assistant") this.replay(message, unknown);
    }
  }

  private hear(text: string) {
    const note = readNote(text);
    if (note) return this.heed(note);
    const steps = parseScript(text);
    this.pending.push(...steps);
    this.isUnderstood = steps.length > 0 || this.isAnswerExpected;
    this.isAnswerExpected = false;
  }

  private heed({ kind, lost, gone }: NonNullable<ReturnType<typeof readNote>>) {
    switch (kind) {
      case "interrupted":
        return this.drop(this.nextOf("sleep"), 1);
      case "wrap up":
        this.isWrappingUp = true;
        return;
      case "failed":
        this.drop(this.unknown ? this.pending.indexOf(this.unknown) : -1, 1);
        return this.drop(0, this.nextOf("fail") + 1);
      case "cancelled":
        this.pending = [];
        return;
      case "compacted":
        for (let left = gone; left > 0; left -= 1) this.drop(0, this.nextOf("call") + 1);
        return;
      case "recovered":
        if (lost > 0) this.pending.unshift(...this.done.splice(-lost).filter((step) => !isQuestion(step)));
    }
  }

  private replay(message: Extract<Message, { role: "assistant" }>, unknown: Set<string>) {
    if (textOf(message) !== "") this.passWords();
    for (const part of message.content) {
      if (part.type !== "tool-call") continue;
      const index = this.nextOf("call");
      const step = this.pending[index];
      if (step?.type !== "call" || step.tool !== part.toolName) continue;
      this.drop(0, index);
      this.unknown = unknown.has(part.toolCallId) ? step : undefined;
      if (this.unknown) continue;
      this.drop(0, 1);
      this.done.push(step);
      this.isAnswerExpected = isQuestion(step);
    }
  }

  /** An answer holds all the words up to the next call; but one that wraps up is no part of the script. */
  private passWords() {
    if (!this.isWrappingUp) {
      const end = this.pending.findIndex(({ type }) => type === "call" || type === "fail");
      this.drop(0, end === -1 ? this.pending.length : end);
    }
    this.isWrappingUp = false;
  }

  /** The next step of a type that the very next answer comes to; only a call ends an answer before its time. */
  private nextOf(type: ScriptStep["type"]): number {
    const index = this.pending.findIndex((step) => step.type === type);
    const call = this.pending.findIndex((step) => step.type === "call");
    return call !== -1 && call < index ? -1 : index;
  }

  private drop(index: number, count: number) {
    if (index >= 0) this.pending.splice(index, count);
  }
}

function isQuestion(step: ScriptStep): boolean {
  return step.type === "call" && step.tool === ASK;
}

function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function unknownCalls(prompt: Prompt): Set<string> {
  const results = prompt.flatMap((message) => (message.role === "tool" ? message.content : []));
  const unknown = results.filter(
    (part) =>
      part.type === "tool-result" &&
      part.output.type === "error-text" &&
      part.output.value === OUTCOME_UNKNOWN,
  );
  return new Set(unknown.map((part) => (part.type === "tool-result" ? part.toolCallId : "")));
}
