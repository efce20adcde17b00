import type { TurnOutcome } from "@outrider/contract/worker";
import { Failure } from "./failure.ts";
import { Turn, type TurnContext } from "./turn.ts";

/** Either what the run is told about the turn's end, or that somebody else ended it. */
export type TurnEnd = TurnOutcome | { type: "stopped"; reason: unknown };

/**
 * Works until the agent is done, asks, fails or is stopped. A failed model call is an end like any other; what this
 * throws is a bug. When the end is refused because messages came in between, call it again with the log as it stands.
 */
export async function runTurn(context: TurnContext): Promise<TurnEnd> {
  const lost = new AbortController();
  const halt = AbortSignal.any([context.signal, lost.signal]);
  const stopped = Promise.withResolvers<TurnEnd>();
  const stop = () => stopped.resolve({ type: "stopped", reason: halt.reason });
  if (halt.aborted) stop();
  else halt.addEventListener("abort", stop, { once: true });
  const work = async () => new Turn(context, halt, (error) => lost.abort(error)).run();
  const ended = work().catch((error: unknown): TurnEnd => {
    if (halt.aborted) return { type: "stopped", reason: halt.reason };
    if (error instanceof Failure) return { type: "failed", error_code: error.code, message: error.message };
    throw error;
  });
  try {
    return await Promise.race([stopped.promise, ended]);
  } finally {
    // While somebody listens, a signal lives as long as what it follows, here the worker, and with it all of this turn.
    halt.removeEventListener("abort", stop);
  }
}
