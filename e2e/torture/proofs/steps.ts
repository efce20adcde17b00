import type { Evidence, StepEvidence } from "../evidence.ts";
import { stepsOf } from "../plan.ts";

/** Times in the log are cut to milliseconds. */
const ROUNDING_MS = 1;

/** Two attempts at a run never work at the same time, nor do two steps of one. */
export function stepsDoNotOverlap({ executions, steps }: Evidence): string[] {
  const runOf = new Map(executions.map(({ execution_id, run_id }) => [execution_id, run_id]));
  const byRun = Map.groupBy(
    steps,
    ({ execution_id }) => runOf.get(execution_id) ?? "a run that is not there",
  );
  return [...byRun].flatMap(([run, own]) => {
    const inOrder = own.sort((one, other) => one.from - other.from);
    return inOrder.slice(1).flatMap((step, index) => {
      const before = inOrder[index] as StepEvidence;
      if (step.from >= before.to) return [];
      return [`In run ${run}, ${describe(step)} began before ${describe(before)} was over.`];
    });
  });
}

/**
 * What runs, runs under a lease: from the claim on, and no longer than the execution. Only of an end from outside may
 * its worker know nothing yet; then the lease bounds it.
 */
export function stepsKeepToTheirLease({ executions, steps, outliveMs }: Evidence): string[] {
  const executionOf = new Map(executions.map((execution) => [execution.execution_id, execution]));
  return steps.flatMap((step) => {
    const execution = executionOf.get(step.execution_id);
    if (!execution) return [`${describe(step)} ran, but there is no such execution.`];
    const { from, to, outcome } = execution;
    const end = (to ?? Number.POSITIVE_INFINITY) + (outcome === "CANCELLED" ? outliveMs : ROUNDING_MS);
    const late = step.to - end;
    return [
      ...(step.from < from ? [`${describe(step)} began before it was claimed.`] : []),
      ...(late > 0 ? [`${describe(step)} lived ${late.toFixed()} ms longer than it may (${outcome}).`] : []),
    ];
  });
}

/** A run that succeeded did all it was asked for, unless it was told otherwise on the way. */
export function whatSucceededIsDone({
  runs,
  events,
  followups,
  executions,
  steps,
  told,
}: Evidence): string[] {
  const scripts = new Map(told.followups.map(({ followup_id, script }) => [followup_id, script]));
  return runs.flatMap(({ run_id, prompt }) => {
    const wasStopped = events.some(
      (event) => event.run_id === run_id && ["run.failed", "run.cancelled"].includes(event.type),
    );
    const own = followups.filter((followup) => followup.run_id === run_id);
    if (wasStopped || own.some(({ mode }) => mode === "interrupt")) return [];
    const ids = executions.filter((one) => one.run_id === run_id).map(({ execution_id }) => execution_id);
    const done = steps.filter(({ isDone, execution_id }) => isDone && ids.includes(execution_id));
    const asked = [prompt, ...own.map(({ followup_id }) => scripts.get(followup_id) ?? "")].flatMap(stepsOf);
    return asked
      .filter((name) => !done.some((step) => step.name === name))
      .map((name) => `Run ${run_id} succeeded, but ${name} was never done.`);
  });
}

function describe({ name, execution_id }: StepEvidence): string {
  return `${name} (execution ${execution_id})`;
}
