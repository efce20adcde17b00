import type { Outrider } from "@outrider/sdk";
import { type AttemptOptions, attemptTask, type RunSettings } from "./attempt.ts";
import { EvalEnvironments } from "./environments.ts";
import { forEachConcurrently } from "./pool.ts";
import type { EvalResult, EvalTask } from "./task.ts";

export const SCRIPTED = "scripted";

export interface EvaluateOptions {
  client: Outrider;
  evalId: string;
  models: string[];
  /** The harnesses to compare. Empty: the default of runs. */
  harnesses: string[];
  attempts: number;
  concurrency: number;
  settings: RunSettings;
  signal: AbortSignal;
  onResult(result: EvalResult, progress: { done: number; total: number }): void;
}

type Attempt = Pick<AttemptOptions, "model" | "harness" | "attempt" | "scripted"> & { task: EvalTask };

/** Executes all tasks with all models and harnesses. Returns the results in the order of these and the attempts. */
export async function evaluate(tasks: EvalTask[], options: EvaluateOptions): Promise<EvalResult[]> {
  const { client, evalId, concurrency, settings, signal, onResult } = options;
  const harnesses = options.harnesses.length > 0 ? options.harnesses.map((harness) => ({ harness })) : [{}];
  const planned: Attempt[] = tasks.flatMap((task) =>
    options.models.flatMap((model) =>
      harnesses.flatMap((harness) =>
        plan(task, { model, attempts: options.attempts }).map((attempt) => ({ ...attempt, ...harness })),
      ),
    ),
  );
  const results: EvalResult[] = [];
  let done = 0;
  await using environments = new EvalEnvironments(client, evalId);
  const attempts = planned.map((attempt, index) => ({ ...attempt, index }));
  await forEachConcurrently(attempts, concurrency, async ({ task, index, ...attempt }) => {
    signal.throwIfAborted();
    const environmentId = await environments.idFor(task);
    const result = await attemptTask(task, {
      ...attempt,
      ...{ client, environmentId, settings, evalId, signal },
    });
    results[index] = result;
    done += 1;
    onResult(result, { done, total: planned.length });
  });
  return results;
}

/** The scripted model solves nothing: it executes the two known answers of a task, once each. */
function plan(task: EvalTask, { model, attempts }: { model: string; attempts: number }): Attempt[] {
  if (model === SCRIPTED)
    return (["solution", "wrong"] as const).map((scripted) => ({ task, model, attempt: 1, scripted }));
  return Array.from({ length: attempts }, (_, index) => ({ task, model, attempt: index + 1 }));
}
