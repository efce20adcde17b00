import type { InterruptRequest } from "@outrider/contract/worker";
import type { Tx } from "../../store/connection/db.ts";
import { abandonLease, countInterruption } from "../../store/dispatch/leases.ts";
import { lockRunState } from "../../store/runs/run-state.ts";
import { failRun } from "./runs.ts";

/*
 * A worker process whose event loop is stuck takes all of its runs down with it. The worker's supervisor kills the
 * process, and then reports each of its executions with a suspicion: whether the run made the process unresponsive.
 *
 * | Suspicion  | Result                                                                                  | Attempt counts |
 * |------------|-----------------------------------------------------------------------------------------|----------------|
 * | `none`     | Another run was the cause. Recovered; isolated after MAX_INTERRUPTIONS in the same turn | No             |
 * | `possible` | The cause is unknown. Recovered in isolation                                            | No             |
 * | `certain`  | Recovered in isolation                                                                  | Yes            |
 *
 * An isolated run executes in a worker process of its own, so it can interrupt no other run. If it makes that process
 * unresponsive too, it fails. The limit on interruptions bounds the damage of a wrong suspicion: a run that is the
 * cause, but is never the suspect, is isolated too.
 *
 * If the supervisor cannot reach a server, the leases expire, and the reaper recovers the runs.
 */

const MAX_INTERRUPTIONS = 3;

/** Ends an execution whose worker process became unresponsive. Has no effect if the execution has lost its lease. */
export async function interrupt(
  tx: Tx,
  executionId: string,
  { run_id, suspicion }: InterruptRequest,
): Promise<void> {
  const runState = await lockRunState(tx, run_id);
  if (runState?.execution_id !== executionId) return;
  const isSuspect = suspicion !== "none";
  if (isSuspect && runState.is_isolated) {
    const message =
      "The run made its worker unresponsive twice, the second time in a process of its own. It was not retried again.";
    await failRun(tx, runState, { error_code: "internal_error", message });
    return;
  }
  const isolate = isSuspect || runState.interruptions + 1 >= MAX_INTERRUPTIONS;
  await countInterruption(tx, run_id, { isolate });
  await abandonLease(tx, {
    runId: run_id,
    executionId,
    reason: explain(suspicion, { isolate }),
    outcome: "STALLED",
    refund: suspicion !== "certain",
  });
}

function explain(suspicion: InterruptRequest["suspicion"], { isolate }: { isolate: boolean }): string {
  const cause =
    suspicion === "certain"
      ? "The run made its worker unresponsive."
      : "The worker became unresponsive and was restarted.";
  return isolate ? `${cause} The run is retried in a process of its own.` : cause;
}
