import { isFinal } from "@outrider/contract/run-state";
import type { RunItem } from "@outrider/sdk";
import { outrider } from "../../api.ts";
import { describeError } from "../../request-error.ts";

/** The result of one request. */
export interface Outcome {
  isSuccess: boolean;
  text: string;
  /** The run after the action. Null if the run was deleted, undefined if it did not change. */
  run?: RunItem | null;
}

export interface BulkAction {
  verb: string;
  isDangerous: boolean;
  /** The word for what happens to the runs, as in "Cancelling 3 runs". */
  progress: string;
  done: string;
  /** Describes the consequences for the selected runs. */
  consequence: string;
  /** Which runs the action skips, as in "Skips 2 runs that already finished." */
  skipped: string;
  keep: string;
  applies: (run: RunItem) => boolean;
  perform: (run: RunItem) => Promise<RunItem | null | undefined>;
}

export const bulkActions = {
  rerun: {
    verb: "Re-run",
    isDangerous: false,
    progress: "Re-running",
    done: "New run started",
    consequence:
      "Starts a new run with the same prompt and settings for each. The selected runs are not affected.",
    skipped: "with attachments. Open such a run to attach its files again",
    keep: "Cancel",
    applies: ({ attachments = [] }) => attachments.length === 0,
    async perform(run) {
      // The request is validated with the contract's schemas, which are loaded only when they are needed.
      const { rerunRequest } = await import("../composer/rerun-request.ts");
      await outrider.runs.create(rerunRequest(run));
      return undefined;
    },
  },
  cancel: {
    verb: "Cancel",
    isDangerous: true,
    progress: "Cancelling",
    done: "Cancelled",
    consequence: "Completed work is kept, and a follow-up can resume each run.",
    skipped: "that already finished",
    keep: "Keep runs",
    applies: ({ state }) => !isFinal(state),
    async perform(run) {
      await outrider.runs.cancel(run.run_id);
      return { ...run, state: "CANCELLED", phase: "done" };
    },
  },
  delete: {
    verb: "Delete",
    isDangerous: true,
    progress: "Deleting",
    done: "Deleted",
    consequence:
      "This permanently deletes their transcripts, changes, artifacts and share links. This cannot be undone.",
    skipped: "that did not finish yet",
    keep: "Keep runs",
    applies: ({ state }) => isFinal(state),
    async perform(run) {
      await outrider.runs.delete(run.run_id);
      return null;
    },
  },
} satisfies Record<string, BulkAction>;

/**
 * The maximum number of concurrent requests. It is low so that a large selection does not slow down other users.
 */
const CONCURRENCY = 4;

/** Performs the action on each run. Reports each result when it is known, and stops before the next run if aborted. */
export async function performOnEach(
  action: BulkAction,
  runs: readonly RunItem[],
  { onResult, signal }: { onResult: (run: RunItem, outcome: Outcome) => void; signal: AbortSignal },
) {
  const waiting = [...runs];
  const work = async () => {
    for (let run = waiting.shift(); run && !signal.aborted; run = waiting.shift()) {
      onResult(run, await performOne(action, run));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

async function performOne(action: BulkAction, run: RunItem): Promise<Outcome> {
  try {
    const changed = await action.perform(run);
    return { isSuccess: true, text: action.done, ...(changed !== undefined && { run: changed }) };
  } catch (error) {
    return { isSuccess: false, text: describeError(error).detail };
  }
}

export function runCount(amount: number): string {
  return amount === 1 ? "1 run" : `${amount.toLocaleString()} runs`;
}
