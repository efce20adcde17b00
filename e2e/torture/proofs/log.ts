import { isFinal, type RunState } from "@outrider/contract/run";
import type { EventEvidence, Evidence } from "../evidence.ts";

/** Every run that was acknowledged is there, once, and has ended. */
export function everyRunIsFinal({ runs, told }: Evidence): string[] {
  const acknowledged = new Set(told.created.values());
  const missing = [...acknowledged].filter((id) => !runs.some(({ run_id }) => run_id === id));
  return [
    ...missing.map((id) => `Run ${id} was acknowledged and is not there.`),
    ...runs.flatMap(({ run_id, state }) => [
      ...(acknowledged.has(run_id) ? [] : [`Run ${run_id} is there and nobody was told of it.`]),
      ...(isFinal(state as RunState) ? [] : [`Run ${run_id} is ${state}.`]),
    ]),
  ];
}

export function numbersHaveNoGaps({ runs, events }: Evidence): string[] {
  return runs.flatMap(({ run_id, last_seq }) => {
    const seqs = events.filter((event) => event.run_id === run_id).map(({ seq }) => seq);
    const isWhole = seqs.length === last_seq && seqs.every((seq, index) => seq === index + 1);
    return isWhole
      ? []
      : [`Run ${run_id} should have the events 1 to ${last_seq} and has ${seqs.join(" ")}.`];
  });
}

export const ends = ["run.succeeded", "run.failed", "run.cancelled", "run.blocked"];

/** An end is the end, until somebody opens the run again. */
export function nothingFollowsAnEnd({ runs, events }: Evidence): string[] {
  const pairs = runs.flatMap(({ run_id }) => {
    const own = events.filter((event) => event.run_id === run_id);
    return own.slice(1).map((event, index) => [own[index] as EventEvidence, event] as const);
  });
  return pairs
    .filter(([before, after]) => ends.includes(before.type) && !mayFollow(before.type).includes(after.type))
    .map(([before, after]) => `Run ${before.run_id} goes on with ${after.type} after ${before.type}.`);
}

/** A question can be answered or given up; all else has to be opened again. */
function mayFollow(end: string): string[] {
  return end === "run.blocked" ? ["run.reopened", "run.cancelled", "run.failed"] : ["run.reopened"];
}

/** Who was told that a run is cancelled finds it so in the log. */
export function cancelsStand({ events, told }: Evidence): string[] {
  const stands = (id: string) => events.some(({ run_id, type }) => run_id === id && type === "run.cancelled");
  return told.cancelled
    .filter((id) => !stands(id))
    .map((id) => `Run ${id} was cancelled, but not in its log.`);
}

const excuses = [/^harness_failed: \S+ was told to fail\.$/, /^worker_lost: /];

/** A fault costs an attempt, never the run, as long as there are attempts left. */
export function nothingFailsForAFault({ events }: Evidence): string[] {
  return events
    .filter(({ failure }) => failure !== null && !excuses.some((excuse) => excuse.test(failure)))
    .map(({ run_id, failure }) => `Run ${run_id} failed, ${failure}`);
}
