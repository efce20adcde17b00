import type { RunState } from "@outrider/contract/run";
import { isFinal } from "@outrider/contract/run-state";
import type { EventRecord, History } from "../history.ts";

/** Every acknowledged run is stored and has ended, and no other run is stored. */
export function everyRunIsStoredAndFinal({ runs, acknowledged }: History): string[] {
  const createdIds = new Set(acknowledged.created.values());
  const missing = [...createdIds].filter((id) => !runs.some(({ run_id }) => run_id === id));
  return [
    ...missing.map((id) => `Run ${id} was acknowledged but is not stored.`),
    ...runs.flatMap(({ run_id, state }) => [
      ...(createdIds.has(run_id) ? [] : [`Run ${run_id} is stored but was never acknowledged.`]),
      ...(isFinal(state as RunState) ? [] : [`Run ${run_id} is ${state}.`]),
    ]),
  ];
}

export function sequenceNumbersHaveNoGaps({ runs, events }: History): string[] {
  return runs.flatMap(({ run_id, last_seq }) => {
    const seqs = events.filter((event) => event.run_id === run_id).map(({ seq }) => seq);
    const isComplete = seqs.length === last_seq && seqs.every((seq, index) => seq === index + 1);
    return isComplete ? [] : [`Run ${run_id} should have events 1 to ${last_seq} but has ${seqs.join(" ")}.`];
  });
}

export const turnEnds = ["run.succeeded", "run.failed", "run.cancelled", "run.blocked"];

/** After an event that ends a turn, the log continues only when the run is reopened. */
export function turnsEndWithTheirFinalEvent({ runs, events }: History): string[] {
  const pairs = runs.flatMap(({ run_id }) => {
    const own = events.filter((event) => event.run_id === run_id);
    return own.slice(1).map((event, index) => [own[index] as EventRecord, event] as const);
  });
  return pairs
    .filter(
      ([before, after]) => turnEnds.includes(before.type) && !allowedAfter(before.type).includes(after.type),
    )
    .map(([before, after]) => `Run ${before.run_id} has ${after.type} after ${before.type}.`);
}

/** A blocked run can also be cancelled or fail. Every other run has to be reopened first. */
function allowedAfter(end: string): string[] {
  return end === "run.blocked" ? ["run.reopened", "run.cancelled", "run.failed"] : ["run.reopened"];
}

/** Every acknowledged cancel is in the log. */
export function acknowledgedCancelsAreLogged({ events, acknowledged }: History): string[] {
  const isLogged = (id: string) =>
    events.some(({ run_id, type }) => run_id === id && type === "run.cancelled");
  return acknowledged.cancelled
    .filter((id) => !isLogged(id))
    .map((id) => `Run ${id} has an acknowledged cancel that its log lacks.`);
}

const expectedFailures = [/^harness_failed: \S+ fails as scripted\.$/, /^worker_lost: /];

/** A fault costs an attempt. It never fails a run that has attempts left. */
export function faultsDoNotFailRuns({ events }: History): string[] {
  return events
    .filter(({ failure }) => failure !== null && !expectedFailures.some((expected) => expected.test(failure)))
    .map(({ run_id, failure }) => `Run ${run_id} failed: ${failure}`);
}
