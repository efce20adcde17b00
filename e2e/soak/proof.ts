import type { Evidence } from "../torture/evidence.ts";
import { problemsIn } from "../torture/proof.ts";
import { noWorkerRunsMoreThanItsSlots } from "../torture/proofs/limits.ts";
import type { Seen } from "./stream.ts";

/** The proofs look from each fact at all others, so they are shown so many runs at a time. */
const RUNS_AT_A_TIME = 100;

/** Everything that the evidence holds against us, one sentence each. */
export function problemsOf(evidence: Evidence, seen: Seen[], { slots }: { slots: number }): string[] {
  return [
    ...partsOf(evidence).flatMap((part) => problemsIn(part, { slots })),
    ...noWorkerRunsMoreThanItsSlots(evidence, slots),
    ...everyStepIsBegunOnce(evidence),
    ...everyCreationIsItsOwnRun(evidence),
    ...everyReaderSawAllOnce(evidence, seen),
  ];
}

/** No proof but that of a worker's slots needs more than one run. */
function partsOf({ runs, events, followups, executions, steps, told, ...rest }: Evidence): Evidence[] {
  const ids = [
    ...new Set([
      ...runs.map(({ run_id }) => run_id),
      ...told.created.values(),
      ...[...events, ...followups, ...executions, ...told.followups].map(({ run_id }) => run_id),
    ]),
  ];
  const partOf = new Map(ids.map((id, index) => [id, Math.floor(index / RUNS_AT_A_TIME)]));
  const runOf = new Map(executions.map(({ execution_id, run_id }) => [execution_id, run_id]));
  const split = <T>(all: T[], runIdOf: (one: T) => string | undefined) =>
    Map.groupBy(all, (one) => partOf.get(runIdOf(one) ?? "") ?? 0);
  const own = {
    runs: split(runs, ({ run_id }) => run_id),
    events: split(events, ({ run_id }) => run_id),
    followups: split(followups, ({ run_id }) => run_id),
    executions: split(executions, ({ run_id }) => run_id),
    steps: split(steps, ({ execution_id }) => runOf.get(execution_id)),
    created: split([...told.created], ([, id]) => id),
    toldFollowups: split(told.followups, ({ run_id }) => run_id),
    cancelled: split(told.cancelled, (id) => id),
  };
  return Array.from({ length: Math.ceil(ids.length / RUNS_AT_A_TIME) }, (_, part) => ({
    ...rest,
    runs: own.runs.get(part) ?? [],
    events: own.events.get(part) ?? [],
    followups: own.followups.get(part) ?? [],
    executions: own.executions.get(part) ?? [],
    steps: own.steps.get(part) ?? [],
    told: {
      created: new Map(own.created.get(part)),
      followups: own.toldFollowups.get(part) ?? [],
      cancelled: own.cancelled.get(part) ?? [],
    },
  }));
}

/** Each command runs once, and once more for every worker that was lost on the way. */
export function everyStepIsBegunOnce({ executions, steps }: Evidence): string[] {
  const runOf = new Map(executions.map(({ execution_id, run_id }) => [execution_id, run_id]));
  const lost = executions.filter(({ outcome }) => outcome === "LOST");
  const lostOf = Map.groupBy(lost, ({ run_id }) => run_id);
  return [...Map.groupBy(steps, ({ name }) => name)].flatMap(([name, { length, 0: first }]) => {
    const may = 1 + (lostOf.get(runOf.get(first?.execution_id ?? "") ?? "")?.length ?? 0);
    return length <= may ? [] : [`${name} was begun ${length} times, where ${may} may be.`];
  });
}

export function everyCreationIsItsOwnRun({ told }: Evidence): string[] {
  const names = Map.groupBy(told.created, ([, id]) => id);
  return [...names]
    .filter(([, { length }]) => length > 1)
    .map(([id, own]) => `Run ${id} is the answer to ${own.map(([name]) => name).join(" and ")}.`);
}

/** However often a reader was cut off: every event, in order, none twice. */
export function everyReaderSawAllOnce({ runs }: Evidence, seen: Seen[]): string[] {
  const lastOf = new Map(runs.map(({ run_id, last_seq }) => [run_id, last_seq]));
  return seen.flatMap(({ runId, seqs, isWhole }) => [
    ...(isWhole ? [] : [`The stream of run ${runId} did not come to an end.`]),
    ...(seqs.every((seq, index) => seq === index + 1)
      ? []
      : [`A reader of run ${runId} saw ${seqs.join(" ")}.`]),
    ...(seqs.length > (lastOf.get(runId) ?? 0) ? [`A reader of run ${runId} saw what is gone.`] : []),
  ]);
}
