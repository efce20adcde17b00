import type { FollowupMode } from "@outrider/contract/followup";
import { limits } from "@outrider/contract/limits";
import {
  isFinal,
  type RunAgentRequest,
  type RunAgentResponse,
  type RunItem,
  type RunSourceType,
  statesBefore,
} from "@outrider/contract/run";
import { v7 as uuidv7 } from "uuid";
import type { Sql, Tx } from "../store/db.ts";
import { withdrawFollowups } from "../store/followups.ts";
import { changeState, type Head, lockHead } from "../store/heads.ts";
import {
  deleteRun,
  findRun,
  findRunCreator,
  insertAttachments,
  insertRun,
  type RunCreator,
} from "../store/runs.ts";
import { requireSteering, requireVisible } from "./access.ts";
import type { Principal } from "./principal.ts";
import { notFound, Refusal } from "./refusal.ts";
import { resolveConfig } from "./resolve.ts";
import type { Vault } from "./vault.ts";

/**
 * The sole writer of a run's state. Which change may follow which stands in the contract's transition table; each
 * change here is one statement that names the states it may leave, with its event in the same transaction.
 */

export interface Origin {
  principal: Principal;
  source: RunSourceType;
  traceId: string;
}

export async function createRun(
  tx: Tx,
  vault: Vault,
  origin: Origin,
  request: RunAgentRequest,
): Promise<RunAgentResponse> {
  const { principal, source, traceId } = origin;
  const { config, unmasked } = await resolveConfig(tx, principal, request.config);
  const run_id = uuidv7();
  const {
    prompt,
    title = titleOf(prompt),
    metadata,
    limits: runLimits,
    output_schema,
    priority = 0,
  } = request;
  await insertRun(tx, {
    run_id,
    title,
    prompt,
    source,
    creator: principal.creator,
    key_id: principal.key.key_id,
    agent_config: config,
    ...(unmasked ? { sealed_config: vault.seal(JSON.stringify(unmasked), `run ${run_id}`) } : {}),
    ...(metadata ? { metadata } : {}),
    ...(runLimits ? { limits: runLimits } : {}),
    ...(output_schema ? { output_schema } : {}),
    priority,
    trace_id: traceId,
  });
  if (request.attachments) await insertAttachments(tx, { run_id }, request.attachments);
  // No worker can connect yet, so none can take the run at once.
  return { run_id, state: "QUEUED", at_capacity: true };
}

/** The prompt's first line that says something, cut at a readable length. */
function titleOf(prompt: string): string {
  const line =
    prompt
      .split("\n")
      .find((one) => one.trim() !== "")
      ?.trim() ?? "Untitled run";
  const characters = [...line];
  const max = limits.derivedTitleCharacters;
  return characters.length <= max ? line : `${characters.slice(0, max - 1).join("")}…`;
}

export async function getRun(sql: Sql, principal: Principal, runId: string): Promise<RunItem> {
  const run = await findRun(sql, runId);
  if (!run) throw notFound("run");
  requireVisible(principal, run.creator);
  return run;
}

/** Refuses who may not see the run. */
export async function requireRun(sql: Sql, principal: Principal, runId: string): Promise<RunCreator> {
  const creator = await findRunCreator(sql, runId);
  if (!creator) throw notFound("run");
  requireVisible(principal, creator);
  return creator;
}

/** The run's lock, for somebody who may steer it. */
export async function lockRun(tx: Tx, principal: Principal, runId: string): Promise<Head> {
  await requireSteering(tx, principal, await requireRun(tx, principal, runId));
  const head = await lockHead(tx, runId);
  if (!head) throw notFound("run");
  return head;
}

/** The run is CANCELLED when this commits; what was not delivered to it is withdrawn. */
export async function cancelRun(tx: Tx, principal: Principal, runId: string): Promise<void> {
  const head = await lockRun(tx, principal, runId);
  if (head.state === "CANCELLED") return;
  const cancelled = await changeState(tx, {
    run_id: runId,
    from: statesBefore("CANCELLED"),
    to: "CANCELLED",
    phase: "done",
    event: { type: "run.cancelled", data: { by: principal.creator } },
  });
  if (!cancelled) {
    throw new Refusal("conflict", `The run has ended as ${head.state} and cannot be cancelled any more.`);
  }
  await withdrawFollowups(tx, { run_id: runId });
}

/** A final or blocked run goes on with a new turn. */
export async function reopenRun(
  tx: Tx,
  principal: Principal,
  head: Head,
  followup: { followup_id: string; mode: FollowupMode },
): Promise<void> {
  await changeState(tx, {
    run_id: head.run_id,
    from: statesBefore("QUEUED"),
    to: "QUEUED",
    phase: "queued",
    newTurn: true,
    event: { type: "run.reopened", data: { ...followup, by: principal.creator } },
  });
}

export async function removeRun(tx: Tx, principal: Principal, runId: string): Promise<void> {
  const head = await lockRun(tx, principal, runId);
  if (!isFinal(head.state)) {
    throw new Refusal("conflict", `The run is ${head.state}. Cancel it first, then delete it.`);
  }
  await deleteRun(tx, runId);
}
