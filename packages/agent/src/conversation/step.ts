import type { EventData } from "@outrider/contract/event";
import type { Replay } from "@outrider/contract/private-data";
import { ASK, AskInput } from "../tools/ask.ts";
import { FINISH } from "../tools/finish.ts";
import { RUN_COMMAND } from "../tools/run-command.ts";
import type { CallEntry, ImageRef, StepEntry } from "./entry.ts";

/** The result recorded for a call whose real result never reached the log. */
export const OUTCOME_UNKNOWN =
  "Interrupted, outcome unknown: the call may have taken effect completely, partly or not at all.";

interface Call {
  id: string;
  tool: string;
  input: unknown;
  /** The command's output so far. */
  output: string;
  result?: { text: string; isError: boolean; images: readonly ImageRef[] };
}

/**
 * One model call with its text and its tool calls, assembled from log events. The conversation opens a step, feeds it
 * events, and converts it to an entry when the next step or a message follows.
 */
export class Step {
  #text: string | undefined;
  #reasoning = "";
  #replay: Replay | undefined;
  readonly #calls: Call[] = [];
  #hasUsage = false;
  #isFinal = false;
  #isTaken = false;

  /**
   * Sets the step's text. Text after the call's usage is the agent's final message; text before it accompanies tool
   * calls.
   */
  setText(text: string) {
    this.#text = text;
    this.#isFinal = this.#hasUsage;
  }

  setReasoning(text: string) {
    this.#reasoning = text;
  }

  markUsage(replay?: Replay) {
    this.#hasUsage = true;
    this.#replay = replay;
  }

  addCall({ call_id, tool, input }: EventData<"tool.called">) {
    this.#calls.push({ id: call_id, tool, input, output: "" });
  }

  /** Sets a tool call's result. Returns false if the result does not belong to an open call of this step. */
  setToolResult({ call_id, output, is_error, images = [] }: EventData<"tool.returned">): boolean {
    return this.#setResult(call_id, () => ({
      text: output,
      isError: is_error === true,
      images: images.map(({ artifact_id, mime_type }) => ({
        id: artifact_id,
        source: "artifact",
        mime_type,
      })),
    }));
  }

  addCommand({ command_id, command }: EventData<"command.started">) {
    this.#calls.push({ id: command_id, tool: RUN_COMMAND, input: { command }, output: "" });
  }

  addCommandOutput({ command_id, text }: EventData<"command.output">) {
    const call = this.#calls.find(({ id }) => id === command_id);
    if (call) call.output += text;
  }

  /** Sets a command's result. Returns false if the command is not an open call of this step. */
  setCommandResult(data: EventData<"command.finished">): boolean {
    return this.#setResult(data.command_id, ({ output }) => ({
      text: commandResult(output, data),
      isError: false,
      images: [],
    }));
  }

  /** Whether the model call is complete, so that only its final text or its tool results can follow. */
  get isComplete(): boolean {
    return this.#isTaken || this.#hasUsage || this.#calls.length > 0;
  }

  get acceptsText(): boolean {
    return !this.#isTaken && this.#calls.length === 0 && this.#text === undefined;
  }

  get hasOpenCalls(): boolean {
    return this.#calls.some(({ result }) => result === undefined);
  }

  /** Whether the step started but did not finish. */
  get isCutOff(): boolean {
    if (this.#calls.length > 0) return this.hasOpenCalls;
    return !this.#isFinal && (this.#text !== undefined || this.#hasUsage);
  }

  get text(): string {
    return this.#text ?? "";
  }

  /** The agent's final message, if this step is one. */
  get finalText(): string | undefined {
    return this.#isFinal && this.#calls.length === 0 ? this.#text : undefined;
  }

  /** The question that the agent asked the user, if it asked one. */
  get question(): string | undefined {
    const ask = this.#calls.find(({ tool, result }) => tool === ASK && result?.isError === false);
    return ask && AskInput.safeParse(ask.input).data?.question;
  }

  /** The accepted `finish` call, if there is one. */
  get finish(): { input: unknown; text: string } | undefined {
    const call = this.#calls.findLast(({ tool, result }) => tool === FINISH && result?.isError === false);
    return call && { input: call.input, text: this.#text ?? "" };
  }

  /** Returns the step as a conversation entry, but only the first time it is called. */
  take(): StepEntry | undefined {
    if (this.#isTaken) return undefined;
    this.#isTaken = true;
    if (!this.#text && this.#calls.length === 0) return undefined;
    const replay = this.#replay ? { replay: this.#replay } : {};
    const calls = this.#calls.map(toCallEntry);
    return { type: "step", text: this.#text ?? "", calls, reasoning: this.#reasoning, ...replay };
  }

  #setResult(id: string, create: (call: Call) => Call["result"] & {}): boolean {
    const call = this.#calls.find((candidate) => candidate.id === id && !candidate.result);
    if (!call || this.#isTaken) return false;
    call.result = create(call);
    return true;
  }
}

function toCallEntry({ id, tool, input, result }: Call): CallEntry {
  const { text, isError, images } = result ?? { text: OUTCOME_UNKNOWN, isError: true, images: [] };
  return { id, tool, input, output: text, isError, images };
}

function commandResult(output: string, data: EventData<"command.finished">) {
  const { exit_code, timed_out, duration_ms, output_path } = data;
  const rest = output_path ? `[The output is too long to show: read or search it in ${output_path}.]\n` : "";
  const lines = (output === "" || output.endsWith("\n") ? output : `${output}\n`) + rest;
  if (timed_out) return `${lines}[killed: timed out after ${duration_ms} ms]`;
  return `${lines}[${exit_code === undefined ? "stopped before it finished" : `exit code ${exit_code}`}]`;
}
