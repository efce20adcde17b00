import { type AmbientAgentConfig, skillName } from "@outrider/contract/agent-config";
import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import { type ErrorCode, errorEntry } from "@outrider/contract/errors/error";
import type { EventData } from "@outrider/contract/event";
import { limits } from "@outrider/contract/limits";
import type {
  RunAgentRequest,
  RunAgentResponse,
  RunItem,
  RunSourceType,
  RunState,
  RunStatusMessage,
} from "@outrider/contract/run";
import { isFinal } from "@outrider/contract/run-state";
import type { TurnOutcome } from "@outrider/contract/worker";
import { DEFAULT_POOL } from "@outrider/contract/worker-pool";
import { annotate, currentTrace } from "@outrider/telemetry/spans";
import { v7 as uuidv7 } from "uuid";
import type { Sql, Tx } from "../../store/connection/db.ts";
import { inTransaction } from "../../store/connection/transaction.ts";
import {
  MAX_REQUIREMENTS,
  type Requirement,
  SANDBOX_LABEL,
  storeRequirement,
} from "../../store/dispatch/requirements.ts";
import { supersedePublications } from "../../store/publications.ts";
import { storePlannedOutcome } from "../../store/run-branches.ts";
import { insertAttachments } from "../../store/runs/attachments.ts";
import type { Report } from "../../store/runs/events.ts";
import { findQueuedFollowup, withdrawFollowups } from "../../store/runs/followups.ts";
import {
  appendFinalReport,
  changeState,
  type EndedTurn,
  lockRunState,
  type RunStateRow,
  type StateChange,
} from "../../store/runs/run-state.ts";
import { deleteRun, findRun, findRunOwnership, insertRun, type RunOwnership } from "../../store/runs/runs.ts";
import { ApiError, invalidField, notFound } from "../api-error.ts";
import type { Principal } from "../auth/principal.ts";
import { requireSteering, requireVisible } from "../auth/run-access.ts";
import type { Vault } from "../auth/vault.ts";
import type { Harnesses } from "../harnesses/harnesses.ts";
import { type BudgetLimits, requireBudget } from "../limits/budgets.ts";
import { type Models, requirePrice } from "../models/models.ts";
import { withIds } from "./attachments.ts";
import { requireSchema } from "./output-schema.ts";
import { resolveConfig } from "./resolve-run-config.ts";
import { ALIVE_MS, CLOSE_MS } from "./run-policy.ts";

/*
 * A run's state machine:
 *
 *   QUEUED ──claim──▶ INPROGRESS ──▶ SUCCEEDED | FAILED | CANCELLED
 *                        │    ▲
 *                        ▼    └── recovered by another worker (stays INPROGRESS)
 *                     BLOCKED ──▶ SUCCEEDED | FAILED | CANCELLED
 *
 * - A run starts in QUEUED. When a follow-up arrives, a final or BLOCKED run returns to QUEUED with a new turn.
 * - A BLOCKED run succeeds when users have decided on all publications that it waits for (publishing/approvals.ts).
 * - A QUEUED run can also end directly if it is cancelled or waits too long. `transitions` in the contract lists all
 *   transitions.
 * - Every change locks the run (its row in run_state) and appends an event in the same transaction. Events are numbered
 *   consecutively, so a run's log has neither gaps nor duplicates.
 * - Every change except a claim ends the lease: `execution_id` becomes null and the execution ends. A worker that still
 *   uses the old execution ID receives a conflict error.
 *
 * Three statements write a run's state. `insertRun` creates it as QUEUED, and outrider_claim moves it to INPROGRESS.
 * outrider_change_state makes every other transition, on behalf of the reaper, cancellation, follow-ups and workers'
 * reports. It changes nothing unless the run is in a state that `transitions` allows it to leave. Recovery is not a
 * transition: it changes only the phase and the lease (`abandonLease`).
 */

export interface Origin {
  principal: Principal;
  source: RunSourceType;
  traceId: string;
}

interface CreateRunServices {
  vault: Vault;
  models: Models;
  harnesses: Harnesses;
  quotas: BudgetLimits;
}

/** Tries to assign the run to a waiting worker in the transaction that creates it, and returns whether it succeeded. */
type ClaimNewRun = (tx: Tx, runId: string) => Promise<boolean>;

/**
 * Creates a run. Without attachments or a waiting claim, this takes a single statement and no explicit transaction.
 * `takeClaim` returns a claim of a waiting worker, if there is one.
 */
export async function createRun(
  sql: Sql,
  { vault, models, harnesses, quotas }: CreateRunServices,
  origin: Origin,
  request: RunAgentRequest,
  takeClaim?: (requirement: Requirement) => ClaimNewRun | undefined,
): Promise<RunAgentResponse> {
  const { principal, source, traceId } = origin;
  const services = { models, harnesses };
  const { config, unmasked, namedBySkill } = await resolveConfig(sql, services, principal, request.config);
  const { prompt = promptForSkill(request), metadata, limits: runLimits, output_schema } = request;
  if (runLimits?.max_cost_usd !== undefined) {
    requirePrice(models, config.model_id, "/limits/max_cost_usd");
    const smallModel = harnesses.smallModelOf(config.harness ?? DEFAULT_HARNESS, config.model_id);
    if (smallModel) requirePrice(models, smallModel, "/limits/max_cost_usd");
  }
  if (output_schema) requireSchema(output_schema, "/output_schema");
  await requireBudget(sql, principal, quotas);
  const requirement = requirementOf(config);
  const requirement_id = await storeRequirement(sql, requirement);
  if (requirement_id === undefined) throw tooManyRequirements();
  const attachments = withIds(request.attachments);
  const run_id = uuidv7();
  annotate({ "outrider.run.id": run_id });
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
    requirement,
    requirement_id,
    ...(unmasked ? { sealed_config: vault.seal(JSON.stringify(unmasked), `run ${run_id}`) } : {}),
    ...(metadata ? { metadata } : {}),
    ...(runLimits ? { limits: runLimits } : {}),
    ...(output_schema ? { output_schema } : {}),
    attachments: attachments.map(({ sent }) => sent),
    priority: request.priority ?? 0,
    trace_id: traceId,
    trace: currentTrace(),
  };
  const claim = takeClaim?.(requirement);
  const isSingleStatement = attachments.length === 0 && !claim;
  const at_capacity = isSingleStatement
    ? await insertRun(sql, run, ALIVE_MS)
    : await inTransaction(sql, async (tx) => {
        // Sends both statements without waiting for the first result; the transaction's connection executes them in
        // order.
        const [isFull, isClaimed] = await Promise.all([insertRun(tx, run, ALIVE_MS), claim?.(tx, run_id)]);
        await insertAttachments(tx, { run_id }, attachments);
        return isFull && !isClaimed;
      });
  return { run_id, state: "QUEUED", at_capacity };
}

/** Returns what a run with this configuration requires of its worker. It does not change later. */
function requirementOf(config: AmbientAgentConfig): Requirement {
  const { worker_host: pool = DEFAULT_POOL, worker_selector = {}, sandbox } = config;
  const selector = { ...worker_selector, ...(sandbox ? { [SANDBOX_LABEL]: sandbox } : {}) };
  return { pool, selector, needsHarness: (config.harness ?? DEFAULT_HARNESS) !== DEFAULT_HARNESS };
}

function tooManyRequirements(): ApiError {
  return invalidField(
    "/config/worker_selector",
    `must not be new together with its pool: existing runs have selected ${MAX_REQUIREMENTS} combinations of pools, labels and kinds of sandboxes; use one of these, or delete runs that need others`,
  );
}

/** Returns the prompt of a request that has only a skill. The contract requires one of the two. */
function promptForSkill({ config }: RunAgentRequest): string {
  return `Use the skill ${skillName(config?.skill_spec ?? "")}.`;
}

/** Derives a title from the prompt's first non-empty line. */
function titleOf(prompt: string): string {
  const line =
    prompt
      .split("\n")
      .find((candidate) => candidate.trim() !== "")
      ?.trim() ?? "Untitled run";
  const characters = [...line];
  const max = limits.derivedTitleCharacters;
  return characters.length <= max ? line : `${characters.slice(0, max - 1).join("")}…`;
}

export async function getRun(sql: Sql, principal: Principal, runId: string): Promise<RunItem> {
  const run = await findRun(sql, runId);
  if (!run) throw notFound("run");
  requireVisible(principal, { creator: run.creator, environment_id: run.agent_config.environment_id });
  return run;
}

/** Adds a link to the run's page, once the run has been claimed for the first time. */
export function withLink(run: RunItem, origin: string): RunItem {
  return run.session_id ? { ...run, session_link: `${origin}/runs/${run.run_id}` } : run;
}

/** Throws if the run does not exist or the caller may not see it. */
export async function requireRun(sql: Sql, principal: Principal, runId: string): Promise<RunOwnership> {
  const ownership = await findRunOwnership(sql, runId);
  if (!ownership) throw notFound("run");
  requireVisible(principal, ownership);
  return ownership;
}

/** Locks the run. Throws if the caller may not steer it. */
export async function lockRun(tx: Tx, principal: Principal, runId: string): Promise<RunStateRow> {
  const { creator } = await requireRun(tx, principal, runId);
  await requireSteering(tx, principal, creator);
  const runState = await lockRunState(tx, runId);
  if (!runState) throw notFound("run");
  return runState;
}

/** Changes the run's state and ends its lease and execution. The caller must hold the run's lock. */
async function transition(tx: Tx, runState: RunStateRow, change: StateChange): Promise<void> {
  if (!(await changeState(tx, runState, change))) {
    throw new ApiError("conflict", `The run is ${runState.state} and cannot become ${change.to}.`);
  }
  if (runState.state === "BLOCKED" || change.to === "CANCELLED")
    await abandonApprovals(tx, runState, change.to);
}

const abandonReasons: Partial<Record<RunState, string>> = {
  QUEUED: "The run continued with a follow-up.",
  CANCELLED: "The run was cancelled.",
  FAILED: "Nobody decided in time.",
};

/** Ends the publications that await approval, because the run ended or continues without a decision. */
async function abandonApprovals(tx: Tx, { run_id: runId, state }: RunStateRow, to: RunState): Promise<void> {
  const message = abandonReasons[to];
  const abandoned = await supersedePublications(tx, { runId }, message ? { message } : undefined);
  if (state === "BLOCKED" && abandoned > 0) await storePlannedOutcome(tx, runId, undefined);
}

/** Cancels a run and withdraws its queued follow-ups. Has no effect if the run is already cancelled. */
export async function cancelRun(tx: Tx, principal: Principal, runId: string): Promise<RunStateRow> {
  const runState = await lockRun(tx, principal, runId);
  if (runState.state === "CANCELLED") return runState;
  if (isFinal(runState.state)) {
    throw new ApiError("conflict", `The run is already ${runState.state} and cannot be cancelled.`);
  }
  await cancelLocked(tx, principal, runState);
  return runState;
}

/** Cancels a run that has not ended. The caller must hold its lock and have checked access. */
export async function cancelLocked(tx: Tx, principal: Principal, runState: RunStateRow): Promise<void> {
  await transition(tx, runState, {
    to: "CANCELLED",
    phase: "done",
    ...(runState.execution_id ? { closingMs: CLOSE_MS } : {}),
    event: { type: "run.cancelled", data: { by: principal.creator } },
  });
  await withdrawFollowups(tx, { run_id: runState.run_id });
}

/** Queues a new turn for a final or blocked run. */
export async function reopenRun(
  tx: Tx,
  runState: RunStateRow,
  reason: EventData<"run.reopened">,
): Promise<void> {
  const event = { type: "run.reopened" as const, data: reason };
  await transition(tx, runState, { to: "QUEUED", phase: "queued", newTurn: true, event });
}

interface WarmSandbox {
  /** How long the worker keeps the sandbox warm. */
  warm_minutes?: number | undefined;
}

const warmSandbox = ({ warm_minutes }: WarmSandbox) => (warm_minutes ? { warmMinutes: warm_minutes } : {});

/**
 * Stores the last report and ends the turn with its outcome, in one statement. Returns undefined and writes nothing if the
 * lease is lost, the batch is not the next one, or a follow-up is queued.
 */
export async function endTurn(
  sql: Sql,
  report: Report,
  { outcome, approvals, ...kept }: { outcome: NotFailed; approvals?: Approvals | undefined } & WarmSandbox,
): Promise<EndedTurn | undefined> {
  const change = approvals ? blockFor(approvals) : changeOf(outcome);
  return appendFinalReport(sql, report, { ...change, ...warmSandbox(kept) });
}

type NotFailed = Exclude<TurnOutcome, { type: "failed" }>;

/** What a user must approve before the turn ends. */
export interface Approvals {
  question: string;
  publication_ids: string[];
}

function blockFor(approvals: Approvals): StateChange {
  const event = { type: "run.blocked" as const, data: approvals };
  return { to: "BLOCKED", phase: "blocked", status_message: { message: approvals.question }, event };
}

function changeOf(outcome: NotFailed): StateChange {
  if (outcome.type === "succeeded") {
    const { text, output } = outcome;
    const data = { text, ...(output === undefined ? {} : { output }) };
    return { to: "SUCCEEDED", phase: "done", event: { type: "run.succeeded", data } };
  }
  const { question } = outcome;
  const event = { type: "run.blocked" as const, data: { question } };
  return { to: "BLOCKED", phase: "blocked", status_message: { message: question }, event };
}

/**
 * Fails a run. If follow-ups are queued, then starts a new turn with them, because an accepted follow-up must not be
 * lost. `finalBatch` is present if the worker itself reported the failure.
 */
export async function failRun(
  tx: Tx,
  runState: RunStateRow,
  { error_code, message }: { error_code: ErrorCode; message: string },
  { finalBatch, ...kept }: { finalBatch?: number } & WarmSandbox = {},
): Promise<void> {
  const { retryable, remedy } = errorEntry(error_code);
  const status_message: RunStatusMessage = { message, error_code, retryable, remedy };
  // When a turn times out, its worker is still alive and may store the sandbox's files before a new turn starts.
  const isOverdue = error_code === "timeout" && finalBatch === undefined && runState.execution_id !== null;
  await transition(tx, runState, {
    to: "FAILED",
    phase: "done",
    status_message,
    event: { type: "run.failed", data: { status_message } },
    ...(isOverdue ? { closingMs: CLOSE_MS } : {}),
    ...(finalBatch === undefined ? {} : { finalBatch }),
    ...warmSandbox(kept),
  });
  const queued = await findQueuedFollowup(tx, runState.run_id);
  if (!queued || runState.state === "QUEUED") return;
  const { followup_id, mode } = queued;
  await reopenRun(tx, { ...runState, state: "FAILED", execution_id: null }, { followup_id, mode });
}

export async function removeRun(tx: Tx, principal: Principal, runId: string): Promise<void> {
  const runState = await lockRun(tx, principal, runId);
  if (!isFinal(runState.state)) {
    throw new ApiError("conflict", `The run is ${runState.state}. Cancel it first, then delete it.`);
  }
  await deleteRun(tx, runId);
}
