import type {
  Followup,
  FollowupMode,
  FollowupOutcome,
  RunFollowupRequest,
} from "@outrider/contract/followup";
import type { RunLimits, RunState } from "@outrider/contract/run";
import { isFinal } from "@outrider/contract/run-state";
import { currentTrace } from "@outrider/telemetry/spans";
import { v7 as uuidv7 } from "uuid";
import type { Sql, Tx } from "../../store/connection/db.ts";
import { insertAttachments } from "../../store/runs/attachments.ts";
import {
  countQueuedFollowups,
  findFollowup,
  insertFollowup,
  updateFollowup,
  withdrawFollowups,
} from "../../store/runs/followups.ts";
import { type RunStateRow, touchRun } from "../../store/runs/run-state.ts";
import { changeLimits, findRemovedData, findRunAgent } from "../../store/runs/runs.ts";
import { storeTurnTrace } from "../../store/runs/traces.ts";
import { ApiError, notFound } from "../api-error.ts";
import type { Principal } from "../auth/principal.ts";
import type { Harnesses } from "../harnesses/harnesses.ts";
import { type Models, requirePrice } from "../models/models.ts";
import { withIds } from "./attachments.ts";
import { lockRun, reopenRun, requireRun } from "./runs.ts";

export interface SentFollowup {
  followup_id: string;
  run_id: string;
  state: RunState;
  outcome: FollowupOutcome;
}

interface FollowupServices {
  models: Models;
  harnesses: Harnesses;
}

/**
 * Throws if a cost limit cannot be enforced because a model of the run has no price. A run's model and harness never
 * change, so no lock is needed.
 */
export async function requireLimits(
  sql: Sql,
  { models, harnesses, principal, runId }: FollowupServices & { principal: Principal; runId: string },
  limits: RunLimits = {},
): Promise<void> {
  if (limits.max_cost_usd === undefined) return;
  await requireRun(sql, principal, runId);
  const agent = await findRunAgent(sql, runId);
  if (!agent) return;
  const { model_id: modelId, harness } = agent;
  const smallModel = harness ? harnesses.smallModelOf(harness, modelId) : undefined;
  for (const id of [modelId, ...(smallModel ? [smallModel] : [])])
    requirePrice(models, id, "/limits/max_cost_usd");
}

/** Throws if the run cannot have another turn, because the operator has changed what its harness can do. */
export async function requireUsableHarness(sql: Sql, harnesses: Harnesses, runId: string): Promise<void> {
  const agent = await findRunAgent(sql, runId);
  if (!agent?.harness) return;
  const { harness: name, model_id: modelId, has_mcp_servers: hasMcpServers } = agent;
  const problem = harnesses.problemOf({ name, modelId, hasMcpServers });
  if (!problem) return;
  const message = `The run cannot continue: ${problem}. Create a new run with another harness.`;
  throw new ApiError("conflict", message);
}

/** Stores a follow-up while holding the run's lock, so that a turn that ends at the same time cannot miss it. */
export async function sendFollowup(
  tx: Tx,
  principal: Principal,
  runId: string,
  request: RunFollowupRequest,
): Promise<{ sent: SentFollowup; workerId: string | null }> {
  const runState = await lockRun(tx, principal, runId);
  const { message, mode = "auto", limits, attachments } = request;
  const outcome = outcomeIn(runState.state);
  if (outcome === "new_turn") await requireNothingRemoved(tx, runId);
  const followup_id = uuidv7();
  await insertFollowup(tx, { followup_id, run_id: runId, message, mode });
  if (limits) await changeLimits(tx, runId, limits);
  if (attachments) await insertAttachments(tx, { run_id: runId, followup_id }, withIds(attachments));
  const trace = currentTrace();
  if (outcome === "new_turn") {
    await reopenRun(tx, runState, { followup_id, mode, by: principal.creator });
    if (trace) await storeTurnTrace(tx, { run_id: runId, turn: runState.turn + 1, trace });
  } else await touchRun(tx, runId);
  const state = outcome === "new_turn" ? "QUEUED" : runState.state;
  return { sent: { followup_id, run_id: runId, state, outcome }, workerId: runState.worker_id };
}

/** Throws if retention has removed the conversation or files from earlier turns, because a new turn needs them. */
async function requireNothingRemoved(tx: Tx, runId: string): Promise<void> {
  const removed = await findRemovedData(tx, runId);
  const at = removed?.events_removed_at ?? removed?.files_removed_at;
  if (!at) return;
  const what = removed?.events_removed_at ? "conversation was" : "files were";
  throw new ApiError(
    "conflict",
    `The run cannot continue: its ${what} removed by this installation's retention on ${at.slice(0, 10)}. Create a new run.`,
  );
}

function outcomeIn(state: RunState): FollowupOutcome {
  if (state === "QUEUED") return "queued_prompt";
  return isFinal(state) || state === "BLOCKED" ? "new_turn" : "live_session";
}

interface FollowupKey {
  runId: string;
  followupId: string;
}

export async function editFollowup(
  tx: Tx,
  principal: Principal,
  { runId, followupId }: FollowupKey,
  change: { message?: string | undefined; mode?: FollowupMode | undefined },
): Promise<Followup> {
  await requireQueued(tx, principal, { runId, followupId });
  await touchRun(tx, runId);
  return (await updateFollowup(tx, followupId, change)) as Followup;
}

export async function withdrawFollowup(
  tx: Tx,
  principal: Principal,
  { runId, followupId }: FollowupKey,
): Promise<void> {
  const runState = await requireQueued(tx, principal, { runId, followupId });
  await withdrawFollowups(tx, { run_id: runId, followup_id: followupId });
  // Only the first turn has a prompt. Without a follow-up, a later turn would have no input.
  if (runState.state === "QUEUED" && runState.turn > 1 && (await countQueuedFollowups(tx, runId)) === 0) {
    throw new ApiError(
      "conflict",
      "This follow-up is the only input of the queued turn. Cancel the run instead.",
    );
  }
  await touchRun(tx, runId);
}

async function requireQueued(
  tx: Tx,
  principal: Principal,
  { runId, followupId }: FollowupKey,
): Promise<RunStateRow> {
  const runState = await lockRun(tx, principal, runId);
  const followup = await findFollowup(tx, runId, followupId);
  if (!followup) throw notFound("follow-up");
  if (followup.delivery !== "queued") {
    throw new ApiError(
      "conflict",
      `The follow-up was already ${followup.delivery} and can no longer be changed.`,
    );
  }
  return runState;
}
