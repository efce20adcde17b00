import type { History, StepRecord } from "../history.ts";
import { stepsOf } from "../plan.ts";

/** The log truncates times to milliseconds. */
const ROUNDING_MS = 1;

/** Two attempts of a run never execute steps at the same time, nor does one attempt execute two steps at once. */
export function stepsDoNotOverlap({ executions, steps }: History): string[] {
  const runOf = new Map(executions.map(({ execution_id, run_id }) => [execution_id, run_id]));
  const byRun = Map.groupBy(steps, ({ execution_id }) => runOf.get(execution_id) ?? "(unknown)");
  return [...byRun].flatMap(([run, runSteps]) => {
    const inOrder = runSteps.sort((one, other) => one.from - other.from);
    return inOrder.slice(1).flatMap((step, index) => {
      const before = inOrder[index] as StepRecord;
      if (step.from >= before.to) return [];
      return [`In run ${run}, ${describe(step)} started before ${describe(before)} ended.`];
    });
  });
}

/**
 * A step runs only under a lease: it starts after the claim and stops before its execution ends. A worker may learn late
 * of a cancel; then the lease bounds how long its step keeps running.
 */
export function stepsStayWithinTheirLease({ executions, steps, maxOverrunMs }: History): string[] {
  const executionOf = new Map(executions.map((execution) => [execution.execution_id, execution]));
  return steps.flatMap((step) => {
    const execution = executionOf.get(step.execution_id);
    if (!execution) return [`${describe(step)} ran in an execution that is not stored.`];
    const { from, to, outcome } = execution;
    const end = (to ?? Number.POSITIVE_INFINITY) + (outcome === "CANCELLED" ? maxOverrunMs : ROUNDING_MS);
    const late = step.to - end;
    return [
      ...(step.from < from ? [`${describe(step)} started before its execution was claimed.`] : []),
      ...(late > 0 ? [`${describe(step)} ran ${late.toFixed()} ms too long (${outcome}).`] : []),
    ];
  });
}

/** A successful run has completed every requested step, unless a follow-up interrupted it. */
export function successfulRunsCompleteTheirSteps({
  runs,
  events,
  followups,
  executions,
  steps,
  acknowledged,
}: History): string[] {
  const scripts = new Map(acknowledged.followups.map(({ followup_id, script }) => [followup_id, script]));
  return runs.flatMap(({ run_id, prompt }) => {
    const wasStopped = events.some(
      (event) => event.run_id === run_id && ["run.failed", "run.cancelled"].includes(event.type),
    );
    const runFollowups = followups.filter((followup) => followup.run_id === run_id);
    if (wasStopped || runFollowups.some(({ mode }) => mode === "interrupt")) return [];
    const executionIds = executions
      .filter((execution) => execution.run_id === run_id)
      .map(({ execution_id }) => execution_id);
    const completed = steps.filter(
      ({ isDone, execution_id }) => isDone && executionIds.includes(execution_id),
    );
    const requested = [
      prompt,
      ...runFollowups.map(({ followup_id }) => scripts.get(followup_id) ?? ""),
    ].flatMap(stepsOf);
    return requested
      .filter((name) => !completed.some((step) => step.name === name))
      .map((name) => `Run ${run_id} succeeded without completing ${name}.`);
  });
}

function describe({ name, execution_id }: StepRecord): string {
  return `${name} (execution ${execution_id})`;
}
