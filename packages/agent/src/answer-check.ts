import { Worker } from "node:worker_threads";
import { Failure } from "./failure.ts";

/** A schema's patterns are the caller's, and a pattern can take for ever. */
const CHECK_MS = 5_000;

export interface AnswerToCheck {
  schema: Record<string, unknown>;
  answer: unknown;
}

/** What is wrong with the schema, or with the answer: nothing, where it fits. */
export type CheckResult = { unusable: string } | { wrong: string[] };

/** What an answer has wrong, by paths. Works on a thread of its own, which can be stopped. */
export async function checkAnswer({
  signal,
  ...workerData
}: AnswerToCheck & { signal: AbortSignal }): Promise<string[]> {
  signal.throwIfAborted();
  const thread = new Worker(new URL("./answer-thread.ts", import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  });
  const patience = AbortSignal.any([signal, AbortSignal.timeout(CHECK_MS)]);
  try {
    const result = await new Promise<CheckResult>((resolve, reject) => {
      thread.once("message", resolve);
      thread.once("error", reject);
      patience.addEventListener("abort", () => reject(patience.reason), { once: true });
    });
    if ("unusable" in result) {
      throw new Failure("output_invalid", `The run's output_schema cannot be used: ${result.unusable}`);
    }
    return result.wrong;
  } catch (error) {
    signal.throwIfAborted();
    if (patience.aborted) return [`it could not be checked within ${CHECK_MS / 1000} seconds`];
    throw error;
  } finally {
    void thread.terminate();
  }
}
