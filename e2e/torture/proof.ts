import type { Evidence } from "./evidence.ts";
import {
  everyFollowupArrivesOnce,
  everyFollowupIsThereOnce,
  followupsArriveInOrder,
} from "./proofs/followups.ts";
import {
  noLimitIsExceededByTheLog,
  noLimitIsExceededByTheSteps,
  noWorkerRunsMoreThanItsSlots,
} from "./proofs/limits.ts";
import {
  cancelsStand,
  everyRunIsFinal,
  nothingFailsForAFault,
  nothingFollowsAnEnd,
  numbersHaveNoGaps,
} from "./proofs/log.ts";
import { stepsDoNotOverlap, stepsKeepToTheirLease, whatSucceededIsDone } from "./proofs/steps.ts";

const proofs = [
  everyRunIsFinal,
  numbersHaveNoGaps,
  nothingFollowsAnEnd,
  cancelsStand,
  nothingFailsForAFault,
  stepsDoNotOverlap,
  stepsKeepToTheirLease,
  whatSucceededIsDone,
  everyFollowupIsThereOnce,
  everyFollowupArrivesOnce,
  followupsArriveInOrder,
  noLimitIsExceededByTheLog,
  noLimitIsExceededByTheSteps,
];

/** Everything that the evidence holds against us, one sentence each. */
export function problemsIn(evidence: Evidence, { slots }: { slots: number }): string[] {
  return [...proofs.flatMap((proof) => proof(evidence)), ...noWorkerRunsMoreThanItsSlots(evidence, slots)];
}
