import { type ErrorCode, errorEntry } from "@outrider/contract/error";
import type { EventData, EventType } from "@outrider/contract/event";
import { limits } from "@outrider/contract/limits";
import {
  isFinal,
  type RunAgentRequest,
  type RunAgentResponse,
  type RunItem,
  type RunSourceType,
  type RunState,
  type RunStatusMessage,
  transitions,
} from "@outrider/contract/run";
import type { TurnOutcome } from "@outrider/contract/worker";
import { v7 as uuidv7 } from "uuid";
import { insertAttachments } from "../store/attachments.ts";
import type { Sql, Tx } from "../store/db.ts";
import type { Report } from "../store/events.ts";
import { endExecution } from "../store/executions.ts";
import { findQueuedFollowup, withdrawFollowups } from "../store/followups.ts";
import { type Change, changeState, endAtOnce, type Head, lockHead } from "../store/heads.ts";
import { deleteRun, findRun, findRunCreator, insertRun, type RunCreator } from "../store/runs.ts";
import { within } from "../store/transaction.ts";
import { requireSteering, requireVisible } from "./access.ts";
import { withIds } from "./attachments.ts";
import { type BudgetRules, requireBudget } from "./budgets.ts";
import { type Models, requirePrice } from "./models.ts";
import { requireSchema } from "./output-schema.ts";
import type { Principal } from "./principal.ts";
import { notFound, Refusal } from "./refusal.ts";
import { resolveConfig } from "./resolve.ts";
import { ALIVE_MS, CLOSE_MS } from "./rules.ts";
import type { Vault } from "./vault.ts";

/**
 * The sole writer of a run's state. Which change may follow which stands in the contract's transition table; each
 * change here is made under the run's lock, with its event in the same transaction.
 */

export interface Origin {
  principal: Principal;
  source: RunSourceType;
  traceId: string;
}

/**
 * Where nothing else belongs to it, a creation is one statement and needs no transaction. `claim` takes the run for a
 * worker that waits, if it would be next, and answers whether it did.
 */
export async function createRun(
  sql: Sql,
  { vault, models, quotas }: { vault: Vault; models: Models; quotas: BudgetRules },
  origin: Origin,
  request: RunAgentRequest,
  claim?: (tx: Tx, runId: string) => Promise<boolean>,
): Promise<RunAgentResponse> {
  const { principal, source, traceId } = origin;
  const { config, unmasked, namedBySkill } = await resolveConfig(sql, models, principal, request.config);
  const { prompt, metadata, limits: runLimits, output_schema } = request;
  if (runLimits?.max_cost_usd !== undefined) requirePrice(models, config.model_id, "/limits/max_cost_usd");
  if (output_schema) requireSchema(output_schema, "/output_schema");
  await requireBudget(sql, principal, quotas);
  const attachments = withIds(request.attachments);
  const run_id = uuidv7();
  const run = {
    run_id,
    title: request.title ?? titleOf(prompt),
    prompt,
    source,
    creator: principal.creator,
    key_id: principal.key?.key_id,
    credential_id: principal.credentialId,
    agent_config: config,
    named_by_skill: namedBySkill,
    ...(unmasked ? { sealed_config: vault.seal(JSON.stringify(unmasked), `run ${run_id}`) } : {}),
    ...(metadata ? { metadata } : {}),
    ...(runLimits ? { limits: runLimits } : {}),
    ...(output_schema ? { output_schema } : {}),
    attachments: attachments.map(({ sent }) => sent),
    priority: request.priority ?? 0,
    trace_id: traceId,
  };
  const isAlone = attachments.length === 0 && !claim;
  const at_capacity = isAlone
    ? await insertRun(sql, run, ALIVE_MS)
    : await within(sql, async (tx) => {
        // The transaction's connection takes them one after the other, without our waiting in between.
        const [isFull, isClaimed] = await Promise.all([insertRun(tx, run, ALIVE_MS), claim?.(tx, run_id)]);
        await insertAttachments(tx, { run_id }, attachments);
        return isFull && !isClaimed;
      });
  return { run_id, state: "QUEUED", at_capacity };
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

/** From its first claim on, a run has a page of its own. */
export function withLink(run: RunItem, origin: string): RunItem {
  return run.session_id ? { ...run, session_link: `${origin}/runs/${run.run_id}` } : run;
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

/** One step through the transition table, for who holds the run's lock. It ends the lease, and the execution with it. */
async function move<T extends EventType>(
  tx: Tx,
  head: Head,
  change: Change<T>,
  finalBatch?: number,
): Promise<void> {
  if (!(transitions[head.state] as readonly RunState[]).includes(change.to)) {
    throw new Refusal("conflict", `The run is ${head.state} and cannot become ${change.to}.`);
  }
  await changeState(tx, head.run_id, change);
  if (!head.execution_id) return;
  await endExecution(tx, {
    executionId: head.execution_id,
    outcome: change.to,
    ...(finalBatch ? { finalBatch } : {}),
  });
}

/** The run is CANCELLED when this commits; what was not delivered to it is withdrawn. */
export async function cancelRun(tx: Tx, principal: Principal, runId: string): Promise<Head> {
  const head = await lockRun(tx, principal, runId);
  if (head.state === "CANCELLED") return head;
  if (isFinal(head.state)) {
    throw new Refusal("conflict", `The run has ended as ${head.state} and cannot be cancelled any more.`);
  }
  await cancelLocked(tx, principal, head);
  return head;
}

/** For who holds the lock of a run that has not ended, and may steer it. */
export async function cancelLocked(tx: Tx, principal: Principal, head: Head): Promise<void> {
  await move(tx, head, {
    to: "CANCELLED",
    phase: "done",
    ...(head.execution_id ? { closingMs: CLOSE_MS } : {}),
    event: { type: "run.cancelled", data: { by: principal.creator } },
  });
  await withdrawFollowups(tx, { run_id: head.run_id });
}

/** A final or blocked run goes on with a new turn. */
export async function reopenRun(tx: Tx, head: Head, reason: EventData<"run.reopened">): Promise<void> {
  const event = { type: "run.reopened" as const, data: reason };
  await move(tx, head, { to: "QUEUED", phase: "queued", newTurn: true, event });
}

/** The agent has ended its turn; the caller holds the lock and has seen that nothing is undelivered. */
export async function endTurn(tx: Tx, head: Head, outcome: TurnOutcome, finalBatch: number): Promise<void> {
  if (outcome.type === "failed") return failRun(tx, head, outcome, finalBatch);
  await move(tx, head, changeOf(outcome), finalBatch);
}

type GoodOutcome = Exclude<TurnOutcome, { type: "failed" }>;

function changeOf(
  outcome: GoodOutcome,
): Change<EventType> & { to: (typeof transitions)["INPROGRESS"][number] } {
  if (outcome.type === "succeeded") {
    const { text, output } = outcome;
    const data = { text, ...(output === undefined ? {} : { output }) };
    const event = { type: "run.succeeded" as const, data };
    return { to: "SUCCEEDED", phase: "done", event };
  }
  const { question } = outcome;
  const event = { type: "run.blocked" as const, data: { question } };
  return { to: "BLOCKED", phase: "blocked", status_message: { message: question }, event };
}

/** The usual end, in one statement. False where something stands in its way: then nothing is written. */
export async function endTurnAtOnce(
  sql: Sql,
  report: Report,
  { outcome, keepsMinutes }: { outcome: GoodOutcome; keepsMinutes?: number | undefined },
): Promise<boolean> {
  return endAtOnce(sql, report, changeOf(outcome), keepsMinutes || undefined);
}

/** A run that fails with messages undelivered takes them up in a new turn: an accepted follow-up is never lost. */
export async function failRun(
  tx: Tx,
  head: Head,
  { error_code, message }: { error_code: ErrorCode; message: string },
  finalBatch?: number,
): Promise<void> {
  const { retryable, remedy } = errorEntry(error_code);
  const status_message: RunStatusMessage = { message, error_code, retryable, remedy };
  const event = { type: "run.failed" as const, data: { status_message } };
  // Who holds a turn that is ended for its length lives: it stores what is there, before another turn begins.
  const isOverdue = error_code === "timeout" && finalBatch === undefined && head.execution_id !== null;
  const closing = isOverdue ? { closingMs: CLOSE_MS } : {};
  await move(tx, head, { to: "FAILED", phase: "done", ...closing, status_message, event }, finalBatch);
  const waiting = await findQueuedFollowup(tx, head.run_id);
  if (!waiting || head.state === "QUEUED") return;
  const { followup_id, mode } = waiting;
  await reopenRun(tx, { ...head, state: "FAILED", execution_id: null }, { followup_id, mode });
}

export async function removeRun(tx: Tx, principal: Principal, runId: string): Promise<void> {
  const head = await lockRun(tx, principal, runId);
  if (!isFinal(head.state)) {
    throw new Refusal("conflict", `The run is ${head.state}. Cancel it first, then delete it.`);
  }
  await deleteRun(tx, runId);
}
