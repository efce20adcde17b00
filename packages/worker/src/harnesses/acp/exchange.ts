import { setTimeout as pause } from "node:timers/promises";
import type { AgentSession } from "./agent-session.ts";
import { AgentError } from "./connection.ts";
import type { Prompt } from "./profile.ts";

/** How long an agent may take to stop. After this time it is killed. */
const CANCEL_MS = 5_000;

export type ExchangeEnd =
  /** The agent has finished with all prompts. */
  | { type: "idle"; stopReason: string }
  /** The agent has stopped as requested. */
  | { type: "stopped" }
  /** The agent has rejected a prompt, or it has exited. */
  | { type: "failed"; error: AgentError };

/** A prompt to an agent and those that are sent while it is busy with it, until it is idle. */
export class Exchange {
  readonly #session: AgentSession;
  readonly #signal: AbortSignal;
  readonly #prompts: Promise<string | AgentError>[] = [];
  readonly #stop = Promise.withResolvers<"stop">();
  readonly #ended = Promise.withResolvers<void>();
  /** Resolves when the agent is idle. */
  readonly ended = this.#ended.promise;

  constructor(session: AgentSession, signal: AbortSignal) {
    this.#session = session;
    this.#signal = signal;
  }

  send(prompt: Prompt): void {
    const answered = this.#session.prompt(prompt, this.#signal).then(
      ({ stopReason }) => stopReason,
      (error: unknown) => {
        if (error instanceof AgentError) return error;
        throw error;
      },
    );
    // An error is reported when `wait` reaches this prompt.
    answered.catch(() => {});
    this.#prompts.push(answered);
  }

  stop(): void {
    this.#stop.resolve("stop");
  }

  async wait(): Promise<ExchangeEnd> {
    try {
      const settled = this.#settle();
      const first = await Promise.race([settled, this.#stop.promise]);
      if (first !== "stop") return first;
      await this.#session.cancel();
      const isLate = await Promise.race([settled.then(() => false), pause(CANCEL_MS, true, { ref: false })]);
      if (isLate) await this.#session.kill();
      await settled;
      return { type: "stopped" };
    } finally {
      this.#ended.resolve();
    }
  }

  async #settle(): Promise<ExchangeEnd> {
    let last: string | AgentError = "end_turn";
    for (;;) {
      const next = this.#prompts.shift();
      if (!next) break;
      last = await next;
    }
    return last instanceof AgentError ? { type: "failed", error: last } : { type: "idle", stopReason: last };
  }
}
