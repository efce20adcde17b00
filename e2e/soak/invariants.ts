import type { History } from "../chaos/history.ts";
import { noWorkerExceedsItsSlots } from "../chaos/invariants/limits.ts";
import { findViolations } from "../chaos/invariants.ts";
import type { ObservedStream } from "./read-stream.ts";

/** The invariants compare every record with all others, so they check this many runs at a time. */
const RUNS_PER_GROUP = 100;

/** Checks the invariants of the chaos rounds and those of the soak. Returns one sentence for each violation. */
export function findAllViolations(
  history: History,
  streams: ObservedStream[],
  { slots }: { slots: number },
): string[] {
  return [
    ...splitByRuns(history).flatMap((group) => findViolations(group, { slots })),
    ...noWorkerExceedsItsSlots(history, slots),
    ...stepsStartOncePerAttempt(history),
    ...creationsReturnDistinctRuns(history),
    ...streamsDeliverEveryEventOnce(history, streams),
  ];
}

/** Splits a history by runs. Only the invariant about worker slots needs all runs at once. */
function splitByRuns({
  runs,
  events,
  followups,
  executions,
  steps,
  acknowledged,
  ...rest
}: History): History[] {
  const ids = [
    ...new Set([
      ...runs.map(({ run_id }) => run_id),
      ...acknowledged.created.values(),
      ...[...events, ...followups, ...executions, ...acknowledged.followups].map(({ run_id }) => run_id),
    ]),
  ];
  const groupOf = new Map(ids.map((id, index) => [id, Math.floor(index / RUNS_PER_GROUP)]));
  const runOf = new Map(executions.map(({ execution_id, run_id }) => [execution_id, run_id]));
  const split = <T>(records: T[], runIdOf: (record: T) => string | undefined) =>
    Map.groupBy(records, (record) => groupOf.get(runIdOf(record) ?? "") ?? 0);
  const groups = {
    runs: split(runs, ({ run_id }) => run_id),
    events: split(events, ({ run_id }) => run_id),
    followups: split(followups, ({ run_id }) => run_id),
    executions: split(executions, ({ run_id }) => run_id),
    steps: split(steps, ({ execution_id }) => runOf.get(execution_id)),
    created: split([...acknowledged.created], ([, id]) => id),
    acknowledgedFollowups: split(acknowledged.followups, ({ run_id }) => run_id),
    cancelled: split(acknowledged.cancelled, (id) => id),
  };
  return Array.from({ length: Math.ceil(ids.length / RUNS_PER_GROUP) }, (_, group) => ({
    ...rest,
    runs: groups.runs.get(group) ?? [],
    events: groups.events.get(group) ?? [],
    followups: groups.followups.get(group) ?? [],
    executions: groups.executions.get(group) ?? [],
    steps: groups.steps.get(group) ?? [],
    acknowledged: {
      created: new Map(groups.created.get(group)),
      followups: groups.acknowledgedFollowups.get(group) ?? [],
      cancelled: groups.cancelled.get(group) ?? [],
    },
  }));
}

/** Each step starts once, and once more for every worker that was lost. */
export function stepsStartOncePerAttempt({ executions, steps }: History): string[] {
  const runOf = new Map(executions.map(({ execution_id, run_id }) => [execution_id, run_id]));
  const lost = executions.filter(({ outcome }) => outcome === "LOST");
  const lostOf = Map.groupBy(lost, ({ run_id }) => run_id);
  return [...Map.groupBy(steps, ({ name }) => name)].flatMap(([name, { length, 0: first }]) => {
    const allowed = 1 + (lostOf.get(runOf.get(first?.execution_id ?? "") ?? "")?.length ?? 0);
    return length <= allowed ? [] : [`${name} started ${length} times; ${allowed} allowed.`];
  });
}

/** No two acknowledged creations return the same run. */
export function creationsReturnDistinctRuns({ acknowledged }: History): string[] {
  const names = Map.groupBy(acknowledged.created, ([, id]) => id);
  return [...names]
    .filter(([, { length }]) => length > 1)
    .map(([id, creations]) => `Run ${id} is the answer to ${creations.map(([name]) => name).join(" and ")}.`);
}

/** Every reader receives each event once and in order, however often it reconnects. */
export function streamsDeliverEveryEventOnce({ runs }: History, streams: ObservedStream[]): string[] {
  const lastOf = new Map(runs.map(({ run_id, last_seq }) => [run_id, last_seq]));
  return streams.flatMap(({ runId, seqs, isComplete }) => [
    ...(isComplete ? [] : [`The stream of run ${runId} did not end.`]),
    ...(seqs.every((seq, index) => seq === index + 1)
      ? []
      : [`A reader of run ${runId} saw ${seqs.join(" ")}.`]),
    ...(seqs.length > (lastOf.get(runId) ?? 0)
      ? [`A reader of run ${runId} saw events that are not stored.`]
      : []),
  ]);
}
