import type { History } from "./history.ts";
import {
  acknowledgedCancelsAreLogged,
  everyRunIsStoredAndFinal,
  faultsDoNotFailRuns,
  sequenceNumbersHaveNoGaps,
  turnsEndWithTheirFinalEvent,
} from "./invariants/event-log.ts";
import {
  followupsAreDeliveredInOrder,
  followupsAreDeliveredOnce,
  followupsAreStoredOnce,
} from "./invariants/followups.ts";
import {
  noLimitIsExceededBySteps,
  noLimitIsExceededInTheLog,
  noWorkerExceedsItsSlots,
} from "./invariants/limits.ts";
import {
  stepsDoNotOverlap,
  stepsStayWithinTheirLease,
  successfulRunsCompleteTheirSteps,
} from "./invariants/step-execution.ts";

const invariants = [
  everyRunIsStoredAndFinal,
  sequenceNumbersHaveNoGaps,
  turnsEndWithTheirFinalEvent,
  acknowledgedCancelsAreLogged,
  faultsDoNotFailRuns,
  stepsDoNotOverlap,
  stepsStayWithinTheirLease,
  successfulRunsCompleteTheirSteps,
  followupsAreStoredOnce,
  followupsAreDeliveredOnce,
  followupsAreDeliveredInOrder,
  noLimitIsExceededInTheLog,
  noLimitIsExceededBySteps,
];

/** Checks every invariant against the history of a round. Returns one sentence for each violation. */
export function findViolations(history: History, { slots }: { slots: number }): string[] {
  return [
    ...invariants.flatMap((invariant) => invariant(history)),
    ...noWorkerExceedsItsSlots(history, slots),
  ];
}
