import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModelUsage } from "ai";
import { Failure } from "./failure.ts";
import { type Answer, type Question, Reception } from "./model-answer.ts";
import { delayBefore, type Patience, usualPatience } from "./models/patience.ts";
import { BrokenAnswer, type Trouble, troubleOf } from "./models/trouble.ts";

export type { Answer, ToolCall } from "./model-answer.ts";

/** A try that failed and is followed by another. */
export interface Retry {
  /** How many tries there were. */
  attempt: number;
  reason: string;
  delay_ms: number;
  /** What the try has used, where that is known. */
  usage: LanguageModelUsage | undefined;
}

export interface ModelCall extends Question {
  /** All that the failed try said through `delta` is void when this is called; waited for before the next try. */
  onRetry?(retry: Retry): void | Promise<void>;
  patience?: Patience;
}

export type ModelResult =
  | Answer
  | { type: "aborted" }
  /** The conversation is too long for the model. */
  | { type: "overflow"; reason: string }
  | { type: "failed"; error: Failure; usage: LanguageModelUsage | undefined };

/**
 * One model call, nothing hidden behind it but its repetition: no further steps, no tool carried out. It is tried again
 * where the trouble may pass. Never throws, but for what `onRetry` throws.
 */
export async function callModel(call: ModelCall): Promise<ModelResult> {
  const { signal, patience = usualPatience } = call;
  const began = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    const { result, usage } = await tryOnce(call, patience);
    if (signal.aborted) return { type: "aborted" };
    if (result.type === "answer" || result.type === "overflow") return result;
    if (result.type === "fatal") return { type: "failed", error: result.failure, usage };
    const delay_ms = delayBefore(attempt, patience, result.afterMs);
    const isTooLate = performance.now() - began + delay_ms > patience.totalMs;
    if (attempt >= patience.tries || isTooLate) {
      return { type: "failed", error: givenUp(result, attempt), usage };
    }
    await call.onRetry?.({ attempt, reason: result.reason, delay_ms, usage });
    await sleep(delay_ms, undefined, { signal }).catch(() => {});
    if (signal.aborted) return { type: "aborted" };
  }
}

/** How long a try that failed may still tell what it has used. */
const LAST_WORDS_MS = 500;

interface Try {
  result: Answer | Trouble;
  usage: LanguageModelUsage | undefined;
}

/** Ends at once when the call is aborted, and when nothing comes for too long, whatever the provider's side does. */
async function tryOnce(call: ModelCall, { firstMs, idleMs }: Patience): Promise<Try> {
  const own = new AbortController();
  const signal = AbortSignal.any([call.signal, own.signal]);
  const delta = (text: string) => {
    if (!signal.aborted) call.delta(text);
  };
  const reception = new Reception({ ...call, signal, delta });
  const giveUp = (ms: number) => own.abort(new BrokenAnswer(`nothing came for ${ms / 1000} s`));
  const timer = new IdleTimer(giveUp);
  timer.start(firstMs);
  try {
    const aborted = rejectedBy(signal);
    const answer = reception.receive(() => {
      if (reception.error !== undefined) timer.start(LAST_WORDS_MS);
      else timer.start(reception.isPondering ? firstMs : idleMs);
    });
    return { result: await Promise.race([answer, aborted]), usage: reception.usage };
  } catch (error) {
    const reason = reception.error ?? (own.signal.aborted ? own.signal.reason : error);
    return { result: troubleOf(reason, call.model.modelId), usage: known(reception.usage) };
  } finally {
    timer.stop();
    // What is still on its way is nobody's any more.
    own.abort();
  }
}

/** A provider that was cut off may have told nothing. */
function known(usage: LanguageModelUsage | undefined): LanguageModelUsage | undefined {
  return usage?.inputTokens === undefined && usage?.outputTokens === undefined ? undefined : usage;
}

/** One timer for all pieces of a stream: to set one for each would cost more than the piece. */
class IdleTimer {
  private readonly giveUp: (ms: number) => void;
  private timer: NodeJS.Timeout | undefined;
  private ms = 0;

  constructor(giveUp: (ms: number) => void) {
    this.giveUp = giveUp;
  }

  start(ms: number) {
    if (ms === this.ms) {
      this.timer?.refresh();
      return;
    }
    this.stop();
    this.ms = ms;
    this.timer = setTimeout(() => this.giveUp(ms), ms);
  }

  stop() {
    clearTimeout(this.timer);
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  const rejected = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  // The answer may come first, and then nobody waits for this.
  rejected.catch(() => {});
  return rejected;
}

function givenUp({ reason, isRateLimit }: Trouble & { type: "retry" }, tries: number): Failure {
  const code = isRateLimit ? "model_rate_limited" : "model_error";
  const often = tries === 1 ? "once" : `${tries} times`;
  return new Failure(code, `The model call failed ${often}, at last with: ${reason}`);
}
