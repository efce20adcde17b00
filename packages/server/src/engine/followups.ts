import type {
  Followup,
  FollowupMode,
  FollowupOutcome,
  RunFollowupRequest,
} from "@outrider/contract/followup";
import { isFinal, type RunLimits, type RunState } from "@outrider/contract/run";
import { v7 as uuidv7 } from "uuid";
import { insertAttachments } from "../store/attachments.ts";
import type { Sql, Tx } from "../store/db.ts";
import {
  countQueuedFollowups,
  findFollowup,
  insertFollowup,
  updateFollowup,
  withdrawFollowups,
} from "../store/followups.ts";
import { type Head, touchRun } from "../store/heads.ts";
import { changeLimits, findModelOfRun, findRemoved } from "../store/runs.ts";
import { withIds } from "./attachments.ts";
import { type Models, requirePrice } from "./models.ts";
import type { Principal } from "./principal.ts";
import { notFound, Refusal } from "./refusal.ts";
import { lockRun, reopenRun, requireRun } from "./runs.ts";

export interface SentFollowup {
  followup_id: string;
  run_id: string;
  state: RunState;
  outcome: FollowupOutcome;
}

/** Refuses a limit that the run's model cannot be held to. Which model that is never changes. */
export async function requireLimits(
  sql: Sql,
  { models, principal, runId }: { models: Models; principal: Principal; runId: string },
  limits: RunLimits = {},
): Promise<void> {
  if (limits.max_cost_usd === undefined) return;
  await requireRun(sql, principal, runId);
  const modelId = await findModelOfRun(sql, runId);
  if (modelId) requirePrice(models, modelId, "/limits/max_cost_usd");
}

/** Stored under the run's lock, so that no end of the run can pass it by. */
export async function sendFollowup(
  tx: Tx,
  principal: Principal,
  runId: string,
  request: RunFollowupRequest,
): Promise<{ sent: SentFollowup; workerId: string | null }> {
  const head = await lockRun(tx, principal, runId);
  const { message, mode = "auto", limits, attachments } = request;
  const outcome = outcomeIn(head.state);
  if (outcome === "new_turn") await requireWhole(tx, runId);
  const followup_id = uuidv7();
  await insertFollowup(tx, { followup_id, run_id: runId, message, mode });
  if (limits) await changeLimits(tx, runId, limits);
  if (attachments) await insertAttachments(tx, { run_id: runId, followup_id }, withIds(attachments));
  if (outcome === "new_turn") await reopenRun(tx, head, { followup_id, mode, by: principal.creator });
  else await touchRun(tx, runId);
  const state = outcome === "new_turn" ? "QUEUED" : head.state;
  return { sent: { followup_id, run_id: runId, state, outcome }, workerId: head.worker_id };
}

/** A turn goes on from the conversation and the files of those before it: without them it would be another run. */
async function requireWhole(tx: Tx, runId: string): Promise<void> {
  const removed = await findRemoved(tx, runId);
  const at = removed?.events_removed_at ?? removed?.files_removed_at;
  if (!at) return;
  const what = removed?.events_removed_at ? "conversation was" : "files were";
  throw new Refusal(
    "conflict",
    `The run's ${what} removed by this installation's retention on ${at.slice(0, 10)}, so that it cannot go on. Create a new run.`,
  );
}

function outcomeIn(state: RunState): FollowupOutcome {
  if (state === "QUEUED") return "queued_prompt";
  return isFinal(state) || state === "BLOCKED" ? "new_turn" : "live_session";
}

interface Address {
  runId: string;
  followupId: string;
}

export async function editFollowup(
  tx: Tx,
  principal: Principal,
  { runId, followupId }: Address,
  change: { message?: string | undefined; mode?: FollowupMode | undefined },
): Promise<Followup> {
  await requireQueued(tx, principal, { runId, followupId });
  await touchRun(tx, runId);
  return (await updateFollowup(tx, followupId, change)) as Followup;
}

export async function withdrawFollowup(
  tx: Tx,
  principal: Principal,
  { runId, followupId }: Address,
): Promise<void> {
  const head = await requireQueued(tx, principal, { runId, followupId });
  await withdrawFollowups(tx, { run_id: runId, followup_id: followupId });
  // A later turn has no prompt of its own: without a message there would be nothing to do.
  if (head.state === "QUEUED" && head.turn > 1 && (await countQueuedFollowups(tx, runId)) === 0) {
    throw new Refusal("conflict", "The run waits to work on this follow-up alone. Cancel the run instead.");
  }
  await touchRun(tx, runId);
}

async function requireQueued(tx: Tx, principal: Principal, { runId, followupId }: Address): Promise<Head> {
  const head = await lockRun(tx, principal, runId);
  const followup = await findFollowup(tx, runId, followupId);
  if (!followup) throw notFound("follow-up");
  if (followup.delivery !== "queued") {
    throw new Refusal(
      "conflict",
      `The follow-up has been ${followup.delivery} and cannot be changed any more.`,
    );
  }
  return head;
}
