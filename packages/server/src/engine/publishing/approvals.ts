import type { Publication } from "@outrider/contract/publication";
import type { Tx } from "../../store/connection/db.ts";
import {
  changePublication,
  countAwaiting,
  type PublicationRow,
  toPublication,
} from "../../store/publications.ts";
import { findPublishingRun, storePlannedOutcome } from "../../store/run-branches.ts";
import { appendEngineEvents } from "../../store/runs/events.ts";
import { changeState, type RunStateRow } from "../../store/runs/run-state.ts";
import { ApiError } from "../api-error.ts";
import { type Principal, requireUser } from "../auth/principal.ts";
import { type SentFollowup, sendFollowup } from "../runs/followups.ts";
import { lockRun } from "../runs/runs.ts";
import { requirePublication } from "./publications.ts";

/*
 * Users decide on publications that await approval. A run whose turn ended with such publications is BLOCKED. Once users
 * have decided on all of them, it succeeds with the outcome that the turn had. A follow-up instead of a decision starts a
 * new turn, and ends the publications (`abandonApprovals` in runs.ts).
 */

interface Decision {
  principal: Principal;
  runId: string;
  publicationId: string;
  comment?: string | undefined;
}

/** Approves a publication. A worker then pushes exactly the commits that it names. */
export async function approvePublication(tx: Tx, decision: Decision): Promise<Publication> {
  const { principal, runId, publicationId, comment } = decision;
  const { runState, row } = await lockAwaiting(tx, decision, "approved");
  const approved = await changePublication(tx, publicationId, {
    state: "QUEUED",
    decided_by: principal.creator,
    ...(comment ? { comment } : {}),
    dueInMs: 0,
    restartsRetries: true,
  });
  const message = `${principal.creator.display_name} approved ${describe(row)}.`;
  await appendEngineEvents(tx, runId, [{ type: "notice", data: { message, code: "publication_approved" } }]);
  await completeTurn(tx, runState);
  return toPublication(approved);
}

/** Rejects a publication. With a comment, the run continues with it. */
export async function rejectPublication(
  tx: Tx,
  decision: Decision,
): Promise<{ publication: Publication; followup?: { sent: SentFollowup; workerId: string | null } }> {
  const { principal, runId, publicationId, comment } = decision;
  const { runState, row } = await lockAwaiting(tx, decision, "rejected");
  const rejected = await changePublication(tx, publicationId, {
    state: "REJECTED",
    decided_by: principal.creator,
    ...(comment ? { comment } : {}),
  });
  const reason = comment ? `: ${comment}` : ".";
  const message = `${principal.creator.display_name} rejected ${describe(row)}${reason}`;
  await appendEngineEvents(tx, runId, [{ type: "notice", data: { message, code: "publication_rejected" } }]);
  const publication = toPublication(rejected);
  if (!comment) {
    await completeTurn(tx, runState);
    return { publication };
  }
  const text = `I rejected the publication of your changes to \`${row.branch}\`: ${comment}`;
  const followup = await sendFollowup(tx, principal, runId, { message: text });
  return { publication, followup };
}

/** Locks the run, and throws if the caller may not decide or the publication does not await a decision. */
async function lockAwaiting(
  tx: Tx,
  { principal, runId, publicationId }: Decision,
  action: "approved" | "rejected",
): Promise<{ runState: RunStateRow; row: PublicationRow }> {
  const runState = await lockRun(tx, principal, runId);
  requireUser(principal);
  const row = await requirePublication(tx, { runId, publicationId });
  if (row.state !== "AWAITING_APPROVAL") {
    throw new ApiError("conflict", `The publication is ${row.state} and can no longer be ${action}.`);
  }
  return { runState, row };
}

function describe({ files_changed, branch, repository }: PublicationRow): string {
  const files = files_changed === 1 ? "1 file" : `${files_changed} files`;
  return `publishing changes to ${files} to \`${branch}\` in ${repository}`;
}

/** Ends the turn of a BLOCKED run with its outcome, unless another publication awaits a decision. */
async function completeTurn(tx: Tx, runState: RunStateRow): Promise<void> {
  const { run_id: runId, state } = runState;
  if (state !== "BLOCKED" || (await countAwaiting(tx, runId)) > 0) return;
  const outcome = (await findPublishingRun(tx, runId))?.planned_outcome;
  // The run is BLOCKED by a question of the agent.
  if (!outcome) return;
  await changeState(tx, runState, {
    to: "SUCCEEDED",
    phase: "done",
    event: { type: "run.succeeded", data: outcome },
  });
  await storePlannedOutcome(tx, runId, undefined);
}
