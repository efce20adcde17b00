import { judgePatch } from "../judge.ts";
import type { EvalTask } from "../task.ts";

type JudgeOptions = Parameters<typeof judgePatch>[2];

/**
 * Checks that the tests of a commit judge it: they must fail without the commit's change and pass with it. Returns why
 * the task is unusable, or undefined.
 */
export async function findTaskProblem(task: EvalTask, options: JudgeOptions): Promise<string | undefined> {
  const before = await judgePatch(task, Buffer.alloc(0), options);
  if (before.isError) return before.reason;
  if (before.isSolved) return "Its tests pass without its change, so they cannot judge it.";
  const after = await judgePatch(task, task.scripted.solution.patch ?? Buffer.alloc(0), options);
  if (after.isSolved) return undefined;
  return `Its tests fail with its own change. ${after.reason}`;
}
