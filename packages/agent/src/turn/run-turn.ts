import type { TurnOutcome } from "@outrider/contract/worker";
import { Failure, failedOutcome } from "../failure.ts";
import { LinkedSignal } from "../linked-signal.ts";
import { Turn } from "./turn.ts";
import type { TurnContext } from "./turn-context.ts";

/** The outcome to report for the run, or "stopped" if the turn was stopped from outside. */
export type TurnEnd = TurnOutcome | { type: "stopped"; reason: unknown };

/**
 * Runs a turn until the agent is done, asks a question, fails or is stopped. A failed model call is a normal outcome;
 * an exception from this function is a bug. If the server rejects the outcome because new messages have arrived, call
 * this function again with the current log.
 */
export function runTurn(context: TurnContext): Promise<TurnEnd> {
  return untilStopped(context.signal, (halt, onLeaseLost) => new Turn(context, halt, onLeaseLost).run());
}

/**
 * Waits for the outcome of a turn's work, but not longer than until the signal aborts or the work reports that the lease
 * is lost. `halt` aborts in both cases. A Failure becomes an outcome.
 */
export async function untilStopped(
  signal: AbortSignal,
  work: (halt: AbortSignal, onLeaseLost: (error: unknown) => void) => Promise<TurnOutcome>,
): Promise<TurnEnd> {
  using stop = new LinkedSignal(signal);
  const halt = stop.signal;
  const stopped = Promise.withResolvers<TurnEnd>();
  const onStop = () => stopped.resolve({ type: "stopped", reason: halt.reason });
  if (halt.aborted) onStop();
  else halt.addEventListener("abort", onStop, { once: true });
  const start = async () => work(halt, (error) => stop.abort(error));
  const ended = start().catch((error: unknown): TurnEnd => {
    if (halt.aborted) return { type: "stopped", reason: halt.reason };
    if (error instanceof Failure) return failedOutcome(error);
    throw error;
  });
  return await Promise.race([stopped.promise, ended]);
}
