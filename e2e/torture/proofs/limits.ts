import type { Evidence, RunEvidence } from "../evidence.ts";
import { ends } from "./log.ts";

interface Span {
  from: number;
  to: number;
}

/** By the log: a run is at work from its claim to the end of its turn, also while it waits for another worker. */
export function noLimitIsExceededByTheLog(evidence: Evidence): string[] {
  return exceeded(evidence, "the log", ({ run_id }) => spansAtWork(evidence, run_id));
}

/**
 * By what really ran: two steps of one run are never counted twice, since they do not overlap. A run that is cancelled
 * gives up its place at once; what its worker has not yet heard of no longer counts.
 */
export function noLimitIsExceededByTheSteps(evidence: Evidence): string[] {
  const { executions, steps } = evidence;
  return exceeded(evidence, "the steps", ({ run_id }) =>
    executions
      .filter((execution) => execution.run_id === run_id)
      .flatMap(({ execution_id, to }) =>
        steps
          .filter((step) => step.execution_id === execution_id)
          .map((step) => ({ from: step.from, to: Math.min(step.to, to ?? step.to) })),
      ),
  );
}

/** A worker never runs more at once than it has slots. */
export function noWorkerRunsMoreThanItsSlots({ executions, steps }: Evidence, slots: number): string[] {
  const workerOf = new Map(executions.map(({ execution_id, worker_id }) => [execution_id, worker_id]));
  const byWorker = Map.groupBy(steps, ({ execution_id }) => workerOf.get(execution_id));
  return [...byWorker].flatMap(([worker, own]) => {
    const most = mostAtOnce(own);
    return most <= slots ? [] : [`Worker ${worker} ran ${most} steps at once in ${slots} slots.`];
  });
}

function exceeded(
  { runs, limits }: Evidence,
  source: string,
  spansOf: (run: RunEvidence) => Span[],
): string[] {
  return limits.flatMap(({ name, max, counts }) => {
    const most = mostAtOnce(runs.filter(counts).flatMap(spansOf));
    return most <= max ? [] : [`By ${source}, ${most} runs of ${name} were at work, where ${max} may be.`];
  });
}

function spansAtWork({ events }: Evidence, runId: string): Span[] {
  const spans: Span[] = [];
  let from: number | undefined;
  for (const { type, at } of events.filter(({ run_id }) => run_id === runId)) {
    if (type === "run.claimed") from ??= at;
    if (from === undefined || !ends.includes(type)) continue;
    spans.push({ from, to: at });
    from = undefined;
  }
  return from === undefined ? spans : [...spans, { from, to: Number.POSITIVE_INFINITY }];
}

/** Where one ends in the very moment in which another begins, the end came first. */
export function mostAtOnce(spans: Span[]): number {
  const changes = spans.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to, by: -1 },
  ]);
  let count = 0;
  let most = 0;
  for (const { by } of changes.sort((one, other) => one.at - other.at || one.by - other.by)) {
    count += by;
    most = Math.max(most, count);
  }
  return most;
}
