import type { NewArtifact } from "@outrider/contract/artifact";
import type { NewEvent } from "@outrider/contract/event";
import type {
  CloseRequest,
  FinishRequest,
  FinishResponse,
  ReportRequest,
  ReportResponse,
  Snapshot,
  TurnOutcome,
} from "@outrider/contract/worker";
import type { Sql, Tx } from "../../store/connection/db.ts";
import { inTransaction } from "../../store/connection/transaction.ts";
import { abandonLease, nameAfterSkill, storeSnapshot, storeUsage } from "../../store/dispatch/leases.ts";
import { type PlannedOutcome, storePlannedOutcome } from "../../store/run-branches.ts";
import { insertArtifact } from "../../store/runs/artifacts.ts";
import { appendEngineEvents, appendReport, type Report } from "../../store/runs/events.ts";
import { findExecution } from "../../store/runs/executions.ts";
import { deliverFollowups, listDelivered } from "../../store/runs/followups.ts";
import { endClosing, lockRunState, type RunStateRow } from "../../store/runs/run-state.ts";
import { ApiError, notFound } from "../api-error.ts";
import { checkBatch } from "../batches.ts";
import { approvalQuestion } from "../publishing/approval-question.ts";
import { endTurn, failRun } from "./runs.ts";

/*
 * The calls that a worker makes while it executes a run: report, finish, close and release.
 *
 * Each call locks the run and checks that the execution still holds the lease. Reports are numbered batches. If the
 * response is lost, the worker repeats the batch; it then receives the first response again and nothing is written.
 *
 * In the common case, a report or the end of a turn is a single statement that calls outrider_append_events or
 * outrider_end_turns. If it writes nothing (because the batch is repeated, the lease is lost or a follow-up is queued),
 * or if there is more to store (a snapshot, artifacts, a skill's name), a transaction is used instead. It locks the run
 * and then calls the same functions.
 */

type BatchStatus = ReturnType<typeof checkBatch> | "ended";

async function lockExecution(
  tx: Tx,
  executionId: string,
  runId: string,
  batch: number,
): Promise<{ runState: RunStateRow; batchStatus: BatchStatus }> {
  const runState = await lockRunState(tx, runId);
  if (!runState) throw notFound("run");
  if (runState.execution_id === executionId && runState.state === "INPROGRESS") {
    return { runState, batchStatus: checkBatch(batch, runState.report_batch) };
  }
  const execution = await findExecution(tx, executionId);
  if (execution?.final_batch === batch) return { runState, batchStatus: "ended" };
  throw leaseLost(runState);
}

function leaseLost({ state }: RunStateRow): ApiError {
  return new ApiError(
    "conflict",
    `The lease is lost: the run is ${state} and no longer belongs to this execution.`,
  );
}

/** Returns an execution's run ID. Throws if the execution does not exist or has ended. */
export async function requireExecution(sql: Sql, executionId: string): Promise<string> {
  const execution = await findExecution(sql, executionId);
  if (!execution) throw notFound("execution");
  if (execution.ended_at) throw new ApiError("conflict", `The execution has ended: ${execution.outcome}.`);
  return execution.run_id;
}

export async function report(sql: Sql, executionId: string, request: ReportRequest): Promise<ReportResponse> {
  const { snapshot, artifacts = [], receipt, deliver } = request;
  if (!snapshot && artifacts.length === 0 && !receipt?.skill) {
    const written = await appendReport(sql, toReport(executionId, request), { deliver });
    if (written) return written;
  }
  return inTransaction(sql, (tx) => reportAll(tx, executionId, request));
}

async function reportAll(tx: Tx, executionId: string, request: ReportRequest): Promise<ReportResponse> {
  const { run_id, batch, snapshot, artifacts = [], receipt, deliver } = request;
  const { runState, batchStatus } = await lockExecution(tx, executionId, run_id, batch);
  if (batchStatus === "ended") throw leaseLost(runState);
  if (batchStatus === "repeated")
    return { last_seq: runState.last_seq, followups: await listDelivered(tx, { executionId, batch }) };
  for (const artifact of artifacts) await insertArtifact(tx, run_id, artifact);
  const { events, ...progress } = toReport(executionId, request);
  const written = await appendLocked(
    tx,
    { ...progress, events: [...artifacts.map(artifactAdded), ...events] },
    { deliver },
  );
  if (snapshot) await storeSnapshot(tx, run_id, snapshot);
  if (receipt?.skill) await nameAfterSkill(tx, run_id, receipt.skill.name);
  return written;
}

function toReport(executionId: string, request: ReportRequest | FinishRequest): Report {
  const { run_id, batch, events, phase, usage, receipt } = request;
  return { runId: run_id, executionId, batch, events: events as NewEvent[], phase, usage, receipt };
}

/** Writes the next report of an execution that holds the lease. The caller must hold the run's lock. */
async function appendLocked(
  tx: Tx,
  report: Report,
  { deliver }: { deliver: boolean },
): Promise<ReportResponse> {
  const written = await appendReport(tx, report, { deliver });
  if (!written) throw new Error(`Batch ${report.batch} of ${report.executionId} was not written.`);
  return written;
}

function artifactAdded({ artifact_id, name, mime_type, size_bytes }: NewArtifact): NewEvent {
  return { type: "artifact.added", data: { artifact_id, name, mime_type, size_bytes } };
}

/** Ends a turn, unless follow-ups are queued. In that case, they are delivered and the turn continues. */
export async function finish(sql: Sql, executionId: string, request: FinishRequest): Promise<FinishResponse> {
  const { outcome, snapshot, receipt, warm_minutes } = request;
  if (!snapshot && outcome.type !== "failed" && !receipt?.skill && !awaitsApproval(outcome)) {
    const ended = await endTurn(sql, toReport(executionId, request), { outcome, warm_minutes });
    if (ended?.lacksCommits) await inTransaction(sql, (tx) => noteMissingCommits(tx, request.run_id));
    if (ended) return { ended: true, followups: [] };
  }
  return inTransaction(sql, (tx) => finishAll(tx, executionId, request));
}

async function finishAll(tx: Tx, executionId: string, request: FinishRequest): Promise<FinishResponse> {
  const { run_id, batch, outcome, snapshot, receipt, warm_minutes } = request;
  const { runState, batchStatus } = await lockExecution(tx, executionId, run_id, batch);
  if (batchStatus === "ended") return { ended: true, followups: [] };
  if (batchStatus === "repeated") {
    return { ended: false, followups: await listDelivered(tx, { executionId, batch }) };
  }
  if (snapshot) await storeSnapshot(tx, run_id, snapshot);
  if (receipt?.skill) await nameAfterSkill(tx, run_id, receipt.skill.name);
  const report = toReport(executionId, request);
  if (outcome.type === "failed") {
    await appendLocked(tx, report, { deliver: false });
    await failRun(tx, runState, outcome, { finalBatch: batch, warm_minutes });
    return { ended: true, followups: [] };
  }
  const approvals = awaitsApproval(outcome)
    ? await approvalQuestion(tx, run_id, outcome.awaiting_approval)
    : undefined;
  const ended = await endTurn(tx, report, { outcome, warm_minutes, approvals });
  if (ended && approvals) await storePlannedOutcome(tx, run_id, plannedOutcome(outcome));
  if (ended?.lacksCommits) await noteMissingCommits(tx, run_id);
  if (ended) return { ended: true, followups: [] };
  await appendLocked(tx, report, { deliver: false });
  const followups = await deliverFollowups(tx, { runId: run_id, executionId, batch, steering: false });
  return { ended: false, followups };
}

type Succeeded = Extract<TurnOutcome, { type: "succeeded" }>;

function awaitsApproval(outcome: TurnOutcome): outcome is Succeeded & { awaiting_approval: string[] } {
  return outcome.type === "succeeded" && (outcome.awaiting_approval?.length ?? 0) > 0;
}

function plannedOutcome(outcome: TurnOutcome): PlannedOutcome | undefined {
  if (outcome.type !== "succeeded") return undefined;
  const { text, output } = outcome;
  return { text, ...(output === undefined ? {} : { output }) };
}

/** Tells the user why a run that should publish its changes did not. */
async function noteMissingCommits(tx: Tx, runId: string): Promise<void> {
  await lockRunState(tx, runId);
  const message =
    "The changes were not published, because the worker that executed this turn is too old to publish. Upgrade the worker, then send a follow-up.";
  await appendEngineEvents(tx, runId, [{ type: "notice", data: { message, code: "publication_failed" } }]);
}

/**
 * Stores the sandbox's final state after the run was cancelled or timed out. Only the run's last execution may do this,
 * and only once.
 */
export async function close(
  tx: Tx,
  executionId: string,
  { run_id, snapshot, usage }: CloseRequest,
): Promise<void> {
  if (!(await endClosing(tx, run_id, executionId))) return;
  if (snapshot) await storeSnapshot(tx, run_id, snapshot);
  if (usage) await storeUsage(tx, run_id, usage);
}

/** Lets a draining worker give up a run so that another worker can continue it. This does not count as an attempt. */
export async function release(
  tx: Tx,
  executionId: string,
  { run_id, snapshot }: { run_id: string; snapshot?: Snapshot | undefined },
): Promise<void> {
  const runState = await lockRunState(tx, run_id);
  if (runState?.execution_id !== executionId) return;
  if (snapshot) await storeSnapshot(tx, run_id, snapshot);
  await abandonLease(tx, {
    runId: run_id,
    executionId,
    reason: "The worker returned the run.",
    outcome: "RELEASED",
    refund: true,
  });
}
