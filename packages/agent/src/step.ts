import type { EventData } from "@outrider/contract/event";
import type { Done, ImageRef } from "./entry.ts";
import { ASK, AskInput } from "./tools/ask.ts";
import { FINISH } from "./tools/finish.ts";
import { RUN_COMMAND } from "./tools/run.ts";

/** How a call ends whose result nobody wrote down. */
export const OUTCOME_UNKNOWN =
  "Interrupted, outcome unknown: it may have taken effect wholly, partly or not at all.";

interface Call {
  id: string;
  tool: string;
  input: unknown;
  /** What a command wrote so far. */
  output: string;
  answer?: { text: string; isError: boolean; images: readonly ImageRef[] };
}

/** One model call and what came of it. */
export class Step {
  private words: string | undefined;
  private readonly calls: Call[] = [];
  private isCounted = false;
  private isFinal = false;
  private isTaken = false;

  /** Words after the usage of their call are the last ones; words before it accompany tool calls. */
  say(text: string) {
    this.words = text;
    this.isFinal = this.isCounted;
  }

  count() {
    this.isCounted = true;
  }

  call({ call_id, tool, input }: EventData<"tool.called">) {
    this.calls.push({ id: call_id, tool, input, output: "" });
  }

  returned({ call_id, output, is_error, images = [] }: EventData<"tool.returned">): boolean {
    return this.answer(call_id, () => ({
      text: output,
      isError: is_error === true,
      images: images.map(({ artifact_id, mime_type }) => ({ id: artifact_id, of: "artifact", mime_type })),
    }));
  }

  command({ command_id, command }: EventData<"command.started">) {
    this.calls.push({ id: command_id, tool: RUN_COMMAND, input: { command }, output: "" });
  }

  commandOutput({ command_id, text }: EventData<"command.output">) {
    const call = this.calls.find(({ id }) => id === command_id);
    if (call) call.output += text;
  }

  commandFinished(data: EventData<"command.finished">): boolean {
    return this.answer(data.command_id, ({ output }) => ({
      text: commandAnswer(output, data),
      isError: false,
      images: [],
    }));
  }

  /** Whether nothing more can come of this model call but its words or what its tools do. */
  get isOver(): boolean {
    return this.isTaken || this.isCounted || this.calls.length > 0;
  }

  get mayStillSpeak(): boolean {
    return !this.isTaken && this.calls.length === 0 && this.words === undefined;
  }

  get hasOpenCalls(): boolean {
    return this.calls.some(({ answer }) => answer === undefined);
  }

  /** Whether something was begun here and not brought to its end. */
  get isCutOff(): boolean {
    if (this.calls.length > 0) return this.hasOpenCalls;
    return !this.isFinal && (this.words !== undefined || this.isCounted);
  }

  /** The agent's last words, when it has said them. */
  get lastWords(): string | undefined {
    return this.isFinal && this.calls.length === 0 ? this.words : undefined;
  }

  /** The question that waits for the user. */
  get question(): string | undefined {
    const asked = this.calls.find(({ tool, answer }) => tool === ASK && answer?.isError === false);
    return asked && AskInput.safeParse(asked.input).data?.question;
  }

  /** What the agent gave as its answer where one was asked for in a form of its own. */
  get finished(): { input: unknown; words: string } | undefined {
    const call = this.calls.findLast(({ tool, answer }) => tool === FINISH && answer?.isError === false);
    return call && { input: call.input, words: this.words ?? "" };
  }

  /** The step as the conversation keeps it, once. */
  take(): Done | undefined {
    if (this.isTaken) return undefined;
    this.isTaken = true;
    if (!this.words && this.calls.length === 0) return undefined;
    return { type: "done", words: this.words ?? "", calls: this.calls.map(doneCall) };
  }

  private answer(id: string, make: (call: Call) => Call["answer"] & {}): boolean {
    const call = this.calls.find((one) => one.id === id && !one.answer);
    if (!call || this.isTaken) return false;
    call.answer = make(call);
    return true;
  }
}

function doneCall({ id, tool, input, answer }: Call): Done["calls"][number] {
  const { text, isError, images } = answer ?? { text: OUTCOME_UNKNOWN, isError: true, images: [] };
  return { id, tool, input, output: text, isError, images };
}

function commandAnswer(output: string, { exit_code, timed_out, duration_ms }: EventData<"command.finished">) {
  const written = output === "" || output.endsWith("\n") ? output : `${output}\n`;
  if (timed_out) return `${written}[killed: its time was up after ${duration_ms} ms]`;
  return `${written}[${exit_code === undefined ? "stopped before its end" : `exit code ${exit_code}`}]`;
}
