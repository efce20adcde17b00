/**
 * Turns the updates of an agent's session into the events of the run's log, for one turn.
 *
 * Chunks of text become one message, and a tool call becomes a command or a tool call with its result. Which files
 * changed is read from the workspace after each call, because the agent's word is not evidence. Everything is emitted
 * through the run's redaction, and text is redacted before it is shortened.
 *
 * Some agents announce a call while the model is still writing its input. Such a call is recorded when its input is
 * complete: when the call starts or ends, or when the agent reports the tokens of the model call.
 */
import type { AgentEvent } from "@outrider/agent/event";
import type { EventData } from "@outrider/contract/event";
import type { RunWorkspace } from "../../workspace/workspace.ts";
import type { TurnInput, TurnIo } from "../harness.ts";
import { AgentError } from "./connection.ts";
import type { Profile, ToolCallState } from "./profile.ts";
import { RecordedCommand } from "./recorded-command.ts";
import type { SessionUpdate, ToolCallUpdate } from "./session-update.ts";
import { applyUpdate, createToolCall } from "./tool-call-state.ts";
import { toolImages, toolInput, toolOutput } from "./tool-result.ts";

const MAX_TEXT_CHARACTERS = 2 ** 20;
const MAX_OPEN_CALLS = 1_000;
/** Calls whose later updates are ignored. */
const MAX_ENDED_CALLS = 10_000;
/** An agent that exceeds these in one turn is stopped, because the log grows with every event. */
const MAX_EVENTS = 50_000;
const MAX_CHARACTERS = 128 * 2 ** 20;
const MAX_PLAN_STEPS = 100;
const MAX_STEP_CHARACTERS = 500;
const MAX_TOOL_CHARACTERS = 200;

const planStates: Record<string, EventData<"plan.updated">["steps"][number]["state"]> = {
  in_progress: "active",
  completed: "done",
};

export interface UpdateRecorderOptions {
  profile: Pick<Profile, "commandOf" | "toolOf" | "inputOf">;
  /** The run's log so far, which has the ids of earlier calls. */
  history: TurnInput["history"];
  io: Pick<TurnIo, "emit" | "delta" | "files">;
  workspace: Pick<RunWorkspace, "listServiceChanges" | "recordOutput" | "redact">;
}

/** A call that has not ended. */
interface OpenCall {
  state: ToolCallState;
  /** Its id in the log. Undefined until the call is recorded. */
  call_id?: string;
  tool?: string;
  command?: RecordedCommand;
}

interface Text {
  type: "message.agent" | "reasoning";
  text: string;
  messageId: string | undefined;
}

export class UpdateRecorder {
  readonly #options: UpdateRecorderOptions;
  readonly #calls = new Map<string, OpenCall>();
  readonly #endedCalls = new Set<string>();
  #text: Text | undefined;
  #lastCall: number;
  #events = 0;
  #characters = 0;
  /** The text of the last complete message, as it is stored. */
  lastMessage = "";

  constructor(options: UpdateRecorderOptions) {
    this.#options = options;
    this.#lastCall = lastCallOf(options.history);
  }

  async record(update: SessionUpdate): Promise<void> {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.#addText("message.agent", update);
      case "agent_thought_chunk":
        return this.#addText("reasoning", update);
      case "plan":
        return this.#recordPlan(update.entries);
      case "usage_update":
        return this.#startCalls();
      case "tool_call":
      case "tool_call_update":
        return this.#recordCall(update);
    }
  }

  /** Emits the message that the agent is writing. Call before another event that the agent reacts to. */
  async flush(): Promise<void> {
    const text = this.#text;
    this.#text = undefined;
    if (!text || text.text.trim() === "") return;
    const stored = await this.#emit({ type: text.type, data: { text: text.text } });
    if (stored.type === "message.agent") this.lastMessage = stored.data.text;
  }

  /** Completes the log at the end of the turn: agents do not always report the end of a call that was cancelled. */
  async end(): Promise<void> {
    await this.flush();
    const calls = [...this.#calls.values()].filter(({ state, call_id }) => call_id || hasInput(state));
    this.#calls.clear();
    for (const call of calls) {
      await this.#start(call);
      await this.#finish(call, { isStopped: true });
    }
    await this.#recordChanges();
  }

  /** Frees what unfinished commands use, when the turn stops without recording their end. */
  discard() {
    for (const { command } of this.#calls.values()) command?.discard();
    this.#calls.clear();
  }

  async #addText(
    type: Text["type"],
    { content, messageId }: Extract<SessionUpdate, { content: { type: string } }>,
  ) {
    if (content.type !== "text" || !content.text) return;
    await this.#startCalls();
    const last = this.#text;
    const isNext = last && (last.type !== type || (messageId !== undefined && last.messageId !== messageId));
    if (isNext) await this.flush();
    this.#text ??= { type, text: "", messageId };
    const left = MAX_TEXT_CHARACTERS - this.#text.text.length;
    if (left <= 0) return;
    const text = content.text.slice(0, left);
    this.#text.text += text;
    if (type === "message.agent") this.#options.io.delta(text);
  }

  async #recordPlan(entries: { content: string; status?: string | undefined }[]) {
    await this.flush();
    const { redact } = this.#redaction;
    const steps = entries.slice(0, MAX_PLAN_STEPS).map(({ content, status = "" }) => ({
      text: redact(content).slice(0, MAX_STEP_CHARACTERS),
      state: planStates[status] ?? ("pending" as const),
    }));
    await this.#emit({ type: "plan.updated", data: { steps } });
  }

  async #recordCall(update: ToolCallUpdate) {
    const { toolCallId } = update;
    if (this.#endedCalls.has(toolCallId)) return;
    const call = this.#calls.get(toolCallId) ?? (await this.#addCall(update));
    applyUpdate(call.state, update);
    const { state } = call;
    const isComplete = update.sessionUpdate === "tool_call" && this.#isReady(state);
    const isRunning = state.status !== "pending" || state.terminalOutput !== "";
    if (isComplete || isRunning) await this.#start(call);
    const { output } = call.command ? (this.#options.profile.commandOf(state) ?? {}) : {};
    if (output !== undefined) call.command?.update(output);
    if (state.status !== "completed" && state.status !== "failed") return;
    this.#calls.delete(toolCallId);
    this.#addEnded(toolCallId);
    await this.#finish(call, { isStopped: false });
    await this.#recordChanges();
  }

  async #addCall(update: ToolCallUpdate): Promise<OpenCall> {
    await this.flush();
    if (this.#calls.size >= MAX_OPEN_CALLS)
      throw new AgentError(`The agent has more than ${MAX_OPEN_CALLS} unfinished tool calls.`);
    const call = { state: createToolCall(update) };
    this.#calls.set(update.toolCallId, call);
    return call;
  }

  #addEnded(id: string) {
    this.#endedCalls.add(id);
    const [oldest] = this.#endedCalls;
    if (this.#endedCalls.size > MAX_ENDED_CALLS && oldest !== undefined) this.#endedCalls.delete(oldest);
  }

  /** Records the calls whose input is complete. */
  async #startCalls() {
    for (const call of this.#calls.values()) if (this.#isReady(call.state)) await this.#start(call);
  }

  /** Whether a call can be recorded. The first input of a command may only have its folder. */
  #isReady(state: ToolCallState): boolean {
    const command = this.#options.profile.commandOf(state);
    return hasInput(state) && (command === undefined || command.command !== undefined);
  }

  /** Records a call, once. */
  async #start(call: OpenCall) {
    if (call.call_id !== undefined) return;
    const { profile, workspace } = this.#options;
    const { state } = call;
    this.#lastCall += 1;
    const call_id = `call-${this.#lastCall}`;
    call.call_id = call_id;
    const { command } = profile.commandOf(state) ?? {};
    if (command !== undefined) {
      const emit = (event: AgentEvent) => this.#emit(event);
      call.command = await RecordedCommand.start({ command_id: call_id, command, emit, workspace });
      return;
    }
    call.tool = (profile.toolOf?.(state) ?? state.name ?? state.kind ?? "tool").slice(0, MAX_TOOL_CHARACTERS);
    const rawInput = profile.inputOf ? profile.inputOf(state) : state.rawInput;
    const input = toolInput({ ...state, rawInput }, this.#redaction.redact);
    await this.#emit({ type: "tool.called", data: { call_id, tool: call.tool, input } });
  }

  async #finish(call: OpenCall, { isStopped }: { isStopped: boolean }) {
    const { profile, io } = this.#options;
    const { state, command, call_id = "", tool = "" } = call;
    if (command) {
      const { output, exitCode } = profile.commandOf(state) ?? {};
      command.update(output ?? "");
      await command.finish(exitCode);
      return;
    }
    const output = toolOutput(state, this.#redaction.redact);
    const images = await Promise.all(
      toolImages(state).map(async ({ mime_type, data }, index) => {
        const artifact_id = await io.files.storeArtifact({
          name: `${call_id}-${index + 1}`,
          mime_type,
          data,
        });
        return { artifact_id, mime_type };
      }),
    );
    const isError = isStopped || state.status === "failed";
    await this.#emit({
      type: "tool.returned",
      data: {
        call_id,
        tool,
        output: isStopped && output === "" ? "The call was stopped before it returned." : output,
        ...(isError ? { is_error: true as const } : {}),
        ...(images.length > 0 ? { images } : {}),
      },
    });
  }

  async #recordChanges() {
    const changes = await this.#options.workspace.listServiceChanges();
    for (const data of changes) await this.#emit({ type: "file.changed", data });
  }

  get #redaction() {
    return { redact: (text: string) => this.#options.workspace.redact(text) };
  }

  async #emit(event: AgentEvent): Promise<AgentEvent> {
    this.#events += 1;
    this.#characters += JSON.stringify(event.data).length;
    if (this.#events > MAX_EVENTS || this.#characters > MAX_CHARACTERS)
      throw new AgentError("The agent did more in one turn than the log can store.");
    return this.#options.io.emit(event);
  }
}

/** Whether the input of a call is known. An agent that is still writing it may announce an empty one. */
function hasInput({ rawInput }: ToolCallState): boolean {
  return typeof rawInput === "object" && rawInput !== null && Object.keys(rawInput).length > 0;
}

/** Returns the number in the last id of a call, because ids are unique within the run. */
function lastCallOf(history: UpdateRecorderOptions["history"]): number {
  let last = 0;
  for (const { type, data } of history) {
    const id = type === "tool.called" ? data.call_id : type === "command.started" ? data.command_id : "";
    const [, number] = /^call-(\d+)$/.exec(id) ?? [];
    if (number !== undefined) last = Math.max(last, Number(number));
  }
  return last;
}
