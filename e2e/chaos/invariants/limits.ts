import type { History, RunRecord } from "../history.ts";
import { turnEnds } from "./event-log.ts";

interface Span {
  from: number;
  to: number;
}

/** According to the log. A run is active from its claim to the end of its turn, even while it waits for another worker. */
export function noLimitIsExceededInTheLog(history: History): string[] {
  return findExceeded(history, "the log", ({ run_id }) => activeSpans(history, run_id));
}

/**
 * According to the steps that really ran. Steps of one run do not overlap, so no run counts twice. A cancelled run frees
 * its slot at once, so a step counts only until its execution ends.
 */
export function noLimitIsExceededBySteps(history: History): string[] {
  const { executions, steps } = history;
  return findExceeded(history, "the steps", ({ run_id }) =>
    executions
      .filter((execution) => execution.run_id === run_id)
      .flatMap(({ execution_id, to }) =>
        steps
          .filter((step) => step.execution_id === execution_id)
          .map((step) => ({ from: step.from, to: Math.min(step.to, to ?? step.to) })),
      ),
  );
}

/** A worker never runs more steps at once than it has slots. */
export function noWorkerExceedsItsSlots({ executions, steps }: History, slots: number): string[] {
  const workerOf = new Map(executions.map(({ execution_id, worker_id }) => [execution_id, worker_id]));
  const byWorker = Map.groupBy(steps, ({ execution_id }) => workerOf.get(execution_id));
  return [...byWorker].flatMap(([worker, workerSteps]) => {
    const active = maxOverlap(workerSteps);
    return active <= slots ? [] : [`Worker ${worker} ran ${active} steps at once but has ${slots} slots.`];
  });
}

function findExceeded(
  { runs, limits }: History,
  source: string,
  spansOf: (run: RunRecord) => Span[],
): string[] {
  return limits.flatMap(({ name, max, counts }) => {
    const active = maxOverlap(runs.filter(counts).flatMap(spansOf));
    return active <= max
      ? []
      : [`According to ${source}, ${active} runs of ${name} were active at once; the limit is ${max}.`];
  });
}

function activeSpans({ events }: History, runId: string): Span[] {
  const spans: Span[] = [];
  let from: number | undefined;
  for (const { type, at } of events.filter(({ run_id }) => run_id === runId)) {
    if (type === "run.claimed") from ??= at;
    if (from === undefined || !turnEnds.includes(type)) continue;
    spans.push({ from, to: at });
    from = undefined;
  }
  return from === undefined ? spans : [...spans, { from, to: Number.POSITIVE_INFINITY }];
}

/** Returns how many spans overlap at most. A span that ends when another starts does not overlap it. */
export function maxOverlap(spans: Span[]): number {
  const changes = spans.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to, by: -1 },
  ]);
  let count = 0;
  let max = 0;
  for (const { by } of changes.sort((one, other) => one.at - other.at || one.by - other.by)) {
    count += by;
    max = Math.max(max, count);
  }
  return max;
}
