import { parseNote } from "../../conversation/notes.ts";
import { OUTCOME_UNKNOWN } from "../../conversation/step.ts";
import { ASK } from "../../tools/ask.ts";
import type { Message, Prompt } from "../provider.ts";
import { isSameTool } from "../tool-name.ts";
import { parseScript, type ScriptStep } from "./script.ts";

/** Returns whether a step that names `scriptTool` leads to a call of `toolName`. */
export type IsCallOf = (scriptTool: string, toolName: string) => boolean;

/**
 * Computes the progress of a script from the conversation alone: user messages add steps, and the agent's messages and
 * calls complete them. A run therefore continues at the right step after a crash or on another worker.
 */
export class ScriptProgress {
  /** The remaining steps. */
  pending: ScriptStep[] = [];
  /** Whether the last user message contained script steps or answered a question. */
  isScript = false;

  readonly #isCallOf: IsCallOf;
  readonly #done: ScriptStep[] = [];
  /** A call whose outcome is unknown and which is therefore repeated. */
  #uncertain: ScriptStep | undefined;
  #isAnswerExpected = false;
  #isWrappingUp = false;

  constructor(prompt: Prompt, isCallOf: IsCallOf = isSameTool) {
    this.#isCallOf = isCallOf;
    const uncertain = uncertainCalls(prompt);
    for (const message of prompt) {
      if (message.role === "user") this.#addMessage(textOf(message));
      if (message.role === "assistant") this.#replay(message, uncertain);
    }
  }

  #addMessage(text: string) {
    const note = parseNote(text);
    if (note) return this.#applyNote(note);
    const steps = parseScript(text);
    this.pending.push(...steps);
    this.isScript = steps.length > 0 || this.#isAnswerExpected;
    this.#isAnswerExpected = false;
  }

  #applyNote({ kind, lostCalls, removedCalls }: NonNullable<ReturnType<typeof parseNote>>) {
    switch (kind) {
      case "interrupted":
        return this.#drop(this.#nextOf("sleep"), 1);
      case "wrap up":
        this.#isWrappingUp = true;
        return;
      case "failed":
        this.#drop(this.#uncertain ? this.pending.indexOf(this.#uncertain) : -1, 1);
        return this.#drop(0, this.#nextOf("fail") + 1);
      case "cancelled":
        this.pending = [];
        return;
      case "compacted":
      case "handover":
        for (let left = removedCalls; left > 0; left -= 1) this.#drop(0, this.#nextOf("call") + 1);
        return;
      case "recovered":
        if (lostCalls > 0)
          this.pending.unshift(...this.#done.splice(-lostCalls).filter((step) => !isQuestion(step)));
    }
  }

  #replay(message: Extract<Message, { role: "assistant" }>, uncertain: Set<string>) {
    if (textOf(message) !== "") this.#completeText();
    for (const part of message.content) {
      if (part.type !== "tool-call") continue;
      const index = this.#nextOf("call");
      const step = this.pending[index];
      // The conversation contains the tool's own name, even if the script wrote it in another way.
      if (step?.type !== "call" || !this.#isCallOf(step.tool, part.toolName)) continue;
      this.#drop(0, index);
      this.#uncertain = uncertain.has(part.toolCallId) ? step : undefined;
      if (this.#uncertain) continue;
      this.#drop(0, 1);
      this.#done.push(step);
      this.#isAnswerExpected = isQuestion(step);
    }
  }

  /**
   * Completes all text steps before the next call, because one response contains all of them. A wrap-up message is not
   * part of the script.
   */
  #completeText() {
    if (!this.#isWrappingUp) {
      const end = this.pending.findIndex(({ type }) => type === "call" || type === "fail");
      this.#drop(0, end === -1 ? this.pending.length : end);
    }
    this.#isWrappingUp = false;
  }

  /**
   * Returns the index of the next step of this type, or -1 if the next response ends before it. A call ends a response.
   */
  #nextOf(type: ScriptStep["type"]): number {
    const index = this.pending.findIndex((step) => step.type === type);
    const call = this.pending.findIndex((step) => step.type === "call");
    return call !== -1 && call < index ? -1 : index;
  }

  #drop(index: number, count: number) {
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

function uncertainCalls(prompt: Prompt): Set<string> {
  const results = prompt.flatMap((message) => (message.role === "tool" ? message.content : []));
  const uncertain = results.filter(
    (part) =>
      part.type === "tool-result" &&
      part.output.type === "error-text" &&
      part.output.value === OUTCOME_UNKNOWN,
  );
  return new Set(uncertain.map((part) => (part.type === "tool-result" ? part.toolCallId : "")));
}
