/**
 * One turn of an agent that speaks ACP.
 *
 * The turn starts the agent, loads its session or creates one, and sends a prompt with everything that the session has not
 * seen yet. Then it repeats: wait until the agent is idle or has stopped, and send the next prompt, until the agent is
 * done.
 *
 * An agent is stopped when a user message interrupts it, when the turn reaches a limit, or when a message arrives that the
 * agent cannot take while it is busy. An agent that does not stop is killed, and its session is loaded again.
 *
 * The agent exits at the end of the turn, before the files are stored, so that the snapshot contains its whole session.
 */
import { ANSWER_MISSING, Conversation } from "@outrider/agent/conversation/conversation";
import {
  answerFormatNote,
  INTERRUPTED_MESSAGE,
  interruptedNote,
  invalidMessageNote,
  type LimitCode,
  limitMessages,
  newMessageNote,
  recoveredNote,
  wrapUpMessageNote,
  wrapUpNote,
} from "@outrider/agent/conversation/notes";
import type { AgentEvent } from "@outrider/agent/event";
import { Failure, failedOutcome } from "@outrider/agent/failure";
import { invalidAnswer, MAX_CORRECTIONS } from "@outrider/agent/turn/turn";
import { limitOutcome } from "@outrider/agent/turn/usage";
import type { TurnOutcome } from "@outrider/contract/worker";
import type { ModelGateway } from "../../gateway/model-gateway.ts";
import { TurnMeter } from "../../gateway/turn-meter.ts";
import type { TurnInput, TurnIo } from "../harness.ts";
import { type AgentLaunch, AgentSession } from "./agent-session.ts";
import { Exchange, type ExchangeEnd } from "./exchange.ts";
import type { Prompt } from "./profile.ts";
import { SessionLog } from "./session-log.ts";
import { StructuredOutput } from "./structured-output.ts";
import { UpdateRecorder } from "./updates.ts";

/** Reasons of ACP for which an agent stops before it has finished. */
const earlyStops: Partial<Record<string, string>> = {
  max_turn_requests: "it reached its own limit of model calls, or noticed that it was repeating itself.",
  max_tokens: "the model's answer was cut off at its maximum length.",
};

export interface AcpAgent {
  name: string;
  title: string;
  launch: AgentLaunch;
  gateway: ModelGateway;
  model_id: string;
  instructions: string;
  output_schema: Record<string, unknown> | undefined;
}

interface Limit {
  code: LimitCode;
  /** The reason of a shared budget that allows no further call, not even for a final message. */
  refusal?: string | undefined;
  /** Whether the agent was asked to wrap up. */
  isTold: boolean;
}

type Message = Awaited<ReturnType<TurnIo["takeMessages"]>>[number];

export class AcpTurn {
  readonly #agent: AcpAgent;
  readonly #io: TurnIo;
  readonly #halt: AbortSignal;
  readonly #onLeaseLost: (error: unknown) => void;
  readonly #meter: TurnMeter;
  readonly #log: SessionLog;
  readonly #recorder: UpdateRecorder;
  readonly #output: StructuredOutput | undefined;
  readonly #started: Conversation["started"];
  #corrections: number;
  #session: AgentSession | undefined;
  #exchange: Exchange | undefined;
  /** Messages that the agent gets with the next prompt. */
  #waiting: Message[] = [];
  #isInterrupted = false;
  #limit: Limit | undefined;
  #hasRestarted = false;

  constructor(
    agent: AcpAgent,
    { input, io }: { input: TurnInput; io: TurnIo },
    halt: AbortSignal,
    onLeaseLost: (error: unknown) => void,
  ) {
    this.#agent = agent;
    this.#io = io;
    this.#halt = halt;
    this.#onLeaseLost = onLeaseLost;
    const { profile, workspace } = agent.launch;
    const { started, wrapUp, corrections } = new Conversation(input.history);
    this.#started = started;
    this.#corrections = corrections.length;
    if (wrapUp) this.#limit = { code: wrapUp, isTold: false };
    this.#output = agent.output_schema && new StructuredOutput(agent.output_schema);
    this.#log = new SessionLog(input.history, { workspace, files: io.files, harness: agent.name });
    const emit = (event: AgentEvent) => this.#emit(event);
    this.#recorder = new UpdateRecorder({
      ...{ profile, workspace, history: input.history },
      io: { emit, files: io.files, delta: (text) => io.delta(text) },
    });
    this.#meter = new TurnMeter({
      input,
      io: { ...io, emit, signal: halt },
      onCall: () => this.#handleCall(),
      onLimit: (code, refusal) => this.#reachLimit(code, refusal),
    });
  }

  async run(): Promise<TurnOutcome> {
    const { gateway } = this.#agent;
    gateway.meter = this.#meter;
    try {
      await this.#output?.checkSchema(this.#halt);
      await this.#start();
      return await this.#converse();
    } finally {
      gateway.meter = undefined;
      await this.#session?.stop();
      await this.#meter.close();
    }
  }

  async #start() {
    const { instructions, model_id } = this.#agent;
    if (this.#started?.instructions === instructions && this.#started.model_id === model_id) return;
    await this.#emit({ type: "run.started", data: { instructions, model_id } });
  }

  async #converse(): Promise<TurnOutcome> {
    let prompt = await this.#open();
    if (prompt.length === 0) prompt = [text(recoveredNote("another worker has taken over.", 0))];
    for (;;) {
      const end = await this.#ask(this.#limit ? [...prompt, this.#wrapUp(this.#limit)] : prompt);
      this.#halt.throwIfAborted();
      const next = await this.#next(end);
      if ("type" in next) return next;
      prompt = next;
    }
  }

  /** Starts the agent. Returns the prompt with everything that its session has not seen. */
  async #open(): Promise<Prompt> {
    const { launch, title } = this.#agent;
    const sessionId = await this.#log.readSessionId();
    const session = await AgentSession.open(launch, {
      sessionId,
      onUpdate: async (update, id) => {
        if (id === this.#session?.id) await this.#recorder.record(update);
      },
      signal: this.#halt,
    });
    this.#session = session;
    const { isLoaded, takesImages } = session;
    if (!isLoaded && this.#log.hasWork) {
      const message = `${title} could not continue its earlier session. It starts a new one with a summary of the log.`;
      await this.#emit({ type: "notice", data: { code: "session_restarted", message } });
    }
    const prompt = await this.#log.firstPrompt(session.id, { isLoaded, takesImages });
    return this.#output && !isLoaded ? [...prompt, text(answerFormatNote(this.#output.schema))] : prompt;
  }

  /** Sends a prompt and waits until the agent is idle. */
  async #ask(prompt: Prompt): Promise<ExchangeEnd> {
    const session = this.#session as AgentSession;
    const exchange = new Exchange(session, this.#halt);
    this.#exchange = exchange;
    this.#recorder.lastMessage = "";
    exchange.send(prompt);
    const unwatch = this.#watchInterrupt();
    try {
      return await exchange.wait();
    } finally {
      unwatch();
      this.#exchange = undefined;
      if (this.#halt.aborted) this.#recorder.discard();
      else {
        await this.#recorder.end();
        await this.#log.save();
      }
    }
  }

  /** Decides what follows: another prompt, or the end of the turn. */
  async #next(end: ExchangeEnd): Promise<Prompt | TurnOutcome> {
    const exit = this.#session?.end;
    const limit = this.#limit;
    if (limit?.isTold || limit?.refusal !== undefined) return this.#limitOutcome(limit);
    const prefix = exit ? await this.#restart(exit.message, end) : [];
    // The next prompt asks the agent to wrap up.
    if (this.#limit) return prefix;
    const messages = [...this.#waiting.splice(0), ...(await this.#takeMessages())];
    const isInterrupted = this.#isInterrupted;
    this.#isInterrupted = false;
    if (isInterrupted) {
      await this.#emit({ type: "notice", data: { code: "interrupted", message: INTERRUPTED_MESSAGE } });
      return [...prefix, text(interruptedNote), ...(await this.#log.toPrompt(messages))];
    }
    if (messages.length > 0) {
      const note = end.type === "stopped" ? [text(newMessageNote)] : [];
      return [...prefix, ...note, ...(await this.#log.toPrompt(messages))];
    }
    if (prefix.length > 0) return prefix;
    return end.type === "idle" ? this.#finish(end) : this.#failed(end);
  }

  /**
   * Starts the agent again after it has exited. Returns the first part of the next prompt. An agent that was killed because
   * it did not stop may start as often as necessary, another one only once.
   */
  async #restart(reason: string, end: ExchangeEnd): Promise<Prompt> {
    if (end.type !== "stopped") {
      if (this.#hasRestarted) throw new Failure("harness_failed", `${this.#agent.title} failed. ${reason}`);
      this.#hasRestarted = true;
    }
    const message = `${this.#agent.title} was started again. ${reason}`;
    await this.#emit({ type: "notice", data: { code: "agent_restarted", message } });
    await this.#session?.kill();
    this.#session = undefined;
    // The session gets these again, together with everything else that it has not seen.
    this.#waiting = [];
    const unseen = await this.#open();
    return [text(recoveredNote("your process had ended and was started again.", 0)), ...unseen];
  }

  async #finish({ stopReason }: Extract<ExchangeEnd, { type: "idle" }>): Promise<Prompt | TurnOutcome> {
    const { failure } = this.#meter;
    if (failure) return failedOutcome(failure);
    if (stopReason === "refusal")
      throw new Failure("model_request_rejected", "The model or its provider refused to answer.");
    const stop = earlyStops[stopReason];
    if (stop !== undefined)
      throw new Failure(
        "harness_failed",
        `${this.#agent.title} stopped early: ${stop} Send a follow-up to continue.`,
      );
    const answer = this.#recorder.lastMessage;
    if (!this.#output) return { type: "succeeded", text: answer };
    const result = await this.#output.read(answer, this.#halt);
    if (result.type === "valid") return { type: "succeeded", text: answer, output: result.output };
    if (this.#corrections >= MAX_CORRECTIONS)
      return invalidAnswer(`The last message was not usable: ${result.problem}`);
    this.#corrections += 1;
    const message = `The agent's last message is not the required answer: ${result.problem}`;
    await this.#emit({ type: "notice", data: { code: ANSWER_MISSING, message } });
    return [text(invalidMessageNote(result.problem))];
  }

  #failed(end: Exclude<ExchangeEnd, { type: "idle" }>): TurnOutcome {
    const { failure } = this.#meter;
    if (failure) return failedOutcome(failure);
    const reason = end.type === "failed" ? end.error.message : "It stopped by itself.";
    throw new Failure("harness_failed", `${this.#agent.title} failed. ${reason}`);
  }

  /** Returns what tells the agent to wrap up. The gateway then allows one last call. */
  #wrapUp(limit: Limit): Prompt[number] {
    limit.isTold = true;
    this.#meter.startWrapUp();
    const { code } = limit;
    return text(this.#output ? wrapUpMessageNote(code) : wrapUpNote(code, { mustFinish: false }));
  }

  async #limitOutcome({ code, refusal }: Limit): Promise<TurnOutcome> {
    if (refusal !== undefined) return { type: "failed", error_code: code, message: refusal };
    const answer = this.#recorder.lastMessage;
    const result = await this.#output?.read(answer, this.#halt);
    return result?.type === "valid"
      ? { type: "succeeded", text: answer, output: result.output }
      : limitOutcome(code);
  }

  /** Called by the meter when the turn reaches a limit. */
  #reachLimit(code: LimitCode, refusal: string | undefined) {
    if (this.#limit) return;
    this.#limit = { code, refusal, isTold: false };
    const message = refusal ?? limitMessages[code];
    void this.#emit({ type: "notice", data: { code, message } }).catch(() => {});
    this.#exchange?.stop();
  }

  /** Called before each model call: delivers waiting messages. */
  async #handleCall(): Promise<void> {
    await this.#log.save();
    const messages = await this.#takeMessages();
    const exchange = this.#exchange;
    if (messages.length === 0) return;
    const isInterrupted = messages.some(({ mode }) => mode === "interrupt");
    if (exchange && this.#agent.launch.profile.whileBusy === "inject" && !isInterrupted) {
      exchange.send(await this.#log.toPrompt(messages));
      return;
    }
    this.#waiting.push(...messages);
    this.#isInterrupted ||= isInterrupted;
    exchange?.stop();
    // The call is not made: the agent drops it when it stops.
    await exchange?.ended;
  }

  /** Stops the agent when a message that interrupts it arrives. */
  #watchInterrupt(): () => void {
    const signal = this.#io.interrupt();
    const interrupt = () => {
      if (this.#limit) return;
      this.#isInterrupted = true;
      this.#exchange?.stop();
    };
    if (signal.aborted) interrupt();
    else signal.addEventListener("abort", interrupt, { once: true });
    return () => signal.removeEventListener("abort", interrupt);
  }

  async #takeMessages(): Promise<Message[]> {
    const messages = await this.#reportLoss(this.#io.takeMessages());
    for (const message of messages) this.#log.addMessage(message);
    return messages;
  }

  async #emit<E extends AgentEvent>(event: E): Promise<E> {
    this.#halt.throwIfAborted();
    const stored = await this.#reportLoss(this.#io.emit(event));
    this.#log.add(stored);
    return stored as E;
  }

  /** Stops the turn if the server rejects the worker's request, because the lease is then lost. */
  async #reportLoss<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } catch (error) {
      this.#onLeaseLost(error);
      throw error;
    }
  }
}

const text = (content: string): Prompt[number] => ({ type: "text", text: content });
