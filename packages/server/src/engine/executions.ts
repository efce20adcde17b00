import type { NewArtifact } from "@outrider/contract/artifact";
import type { NewEvent } from "@outrider/contract/event";
import type {
  CloseRequest,
  DeliveredFollowup,
  FinishRequest,
  FinishResponse,
  ReportRequest,
  ReportResponse,
  Snapshot,
} from "@outrider/contract/worker";
import { insertArtifact } from "../store/artifacts.ts";
import type { Sql, Tx } from "../store/db.ts";
import { appendEvents, appendReport } from "../store/events.ts";
import { endExecution, findExecution } from "../store/executions.ts";
import { deliverFollowups, listDelivered } from "../store/followups.ts";
import { endClosing, type Head, lockHead } from "../store/heads.ts";
import { abandonLease, keepReceipt, keepSandbox, keepSnapshot, keepUsage } from "../store/leases.ts";
import { within } from "../store/transaction.ts";
import { notFound, Refusal } from "./refusal.ts";
import { endTurn, endTurnAtOnce } from "./runs.ts";

/**
 * What the holder of a lease may do. Each call begins with the run's lock and the token on that row; a call that is
 * repeated, because its answer was lost, gets the first answer and writes nothing. A report and an end as they mostly are
 * take one statement; what it does not cover, or does not find as expected, takes the way through a transaction.
 */

type Standing = "next" | "repeated" | "ended";

async function lockExecution(
  tx: Tx,
  executionId: string,
  runId: string,
  batch: number,
): Promise<{ head: Head; standing: Standing }> {
  const head = await lockHead(tx, runId);
  if (!head) throw notFound("run");
  if (head.execution_id === executionId && head.state === "INPROGRESS") {
    if (batch === head.report_batch + 1) return { head, standing: "next" };
    if (batch === head.report_batch && batch > 0) return { head, standing: "repeated" };
    throw new Refusal("conflict", `Batch ${head.report_batch + 1} is expected, not ${batch}.`);
  }
  const execution = await findExecution(tx, executionId);
  if (execution?.final_batch === batch) return { head, standing: "ended" };
  throw lost(head);
}

function lost({ state }: Head): Refusal {
  return new Refusal("conflict", `The lease is lost: the run is ${state}, and not this execution's.`);
}

/** The run that an execution works on; refuses one that is not, or no longer, at work. */
export async function requireExecution(sql: Sql, executionId: string): Promise<string> {
  const execution = await findExecution(sql, executionId);
  if (!execution) throw notFound("execution");
  if (execution.ended_at) throw new Refusal("conflict", `The execution has ended: ${execution.outcome}.`);
  return execution.run_id;
}

export async function report(sql: Sql, executionId: string, request: ReportRequest): Promise<ReportResponse> {
  const { run_id, events, snapshot, artifacts = [], receipt, deliver } = request;
  if (!snapshot && artifacts.length === 0 && !receipt?.skill) {
    const batch = { ...request, runId: run_id, executionId, events: events as NewEvent[] };
    const written = await appendReport(sql, batch, { deliver });
    if (written) return written;
  }
  return within(sql, (tx) => reportAll(tx, executionId, request));
}

async function reportAll(tx: Tx, executionId: string, request: ReportRequest): Promise<ReportResponse> {
  const { run_id, batch, events, phase, usage, snapshot, artifacts = [], receipt, deliver } = request;
  const { head, standing } = await lockExecution(tx, executionId, run_id, batch);
  if (standing === "ended") throw lost(head);
  if (standing === "repeated")
    return { last_seq: head.last_seq, followups: await listDelivered(tx, { executionId, batch }) };
  for (const artifact of artifacts) await insertArtifact(tx, run_id, artifact);
  const written = [...artifacts.map(announce), ...(events as NewEvent[])];
  const last_seq = await appendEvents(tx, run_id, written, { batch, phase, usage });
  const followups = deliver
    ? await deliverFollowups(tx, { runId: run_id, executionId, batch, steering: true })
    : [];
  if (snapshot) await keepSnapshot(tx, run_id, snapshot);
  if (receipt) await keepReceipt(tx, run_id, receipt);
  return { last_seq: followups.at(-1)?.seq ?? last_seq, followups };
}

function announce({ artifact_id, name, mime_type, size_bytes }: NewArtifact): NewEvent {
  return { type: "artifact.added", data: { artifact_id, name, mime_type, size_bytes } };
}

/** The end is written only where nothing is undelivered; otherwise the turn goes on with what came in between. */
export async function finish(sql: Sql, executionId: string, request: FinishRequest): Promise<FinishResponse> {
  const { run_id, events, outcome, snapshot, receipt, keeps_minutes } = request;
  if (!snapshot && outcome.type !== "failed" && !receipt?.skill) {
    const report = { ...request, runId: run_id, executionId, events: events as NewEvent[] };
    const ended = await endTurnAtOnce(sql, report, { outcome, keepsMinutes: keeps_minutes });
    if (ended) return { ended, followups: [] };
  }
  return within(sql, (tx) => finishAll(tx, executionId, request));
}

async function finishAll(tx: Tx, executionId: string, request: FinishRequest): Promise<FinishResponse> {
  const { run_id, batch, events, phase, usage, outcome, snapshot, receipt, keeps_minutes } = request;
  const { head, standing } = await lockExecution(tx, executionId, run_id, batch);
  if (standing === "ended") return { ended: true, followups: [] };
  if (standing === "repeated") {
    return { ended: false, followups: await listDelivered(tx, { executionId, batch }) };
  }
  await appendEvents(tx, run_id, events as NewEvent[], { batch, phase, usage });
  if (snapshot) await keepSnapshot(tx, run_id, snapshot);
  if (receipt) await keepReceipt(tx, run_id, receipt);
  const followups: DeliveredFollowup[] =
    outcome.type === "failed"
      ? []
      : await deliverFollowups(tx, { runId: run_id, executionId, batch, steering: false });
  if (followups.length > 0) return { ended: false, followups };
  if (keeps_minutes && head.worker_id) await keepSandbox(tx, run_id, head.worker_id, keeps_minutes);
  await endTurn(tx, head, outcome, batch);
  return { ended: true, followups: [] };
}

/** The one thing that the last holder may do after an end from outside: store what the sandbox left. */
export async function close(
  tx: Tx,
  executionId: string,
  { run_id, snapshot, usage }: CloseRequest,
): Promise<void> {
  if (!(await endClosing(tx, run_id, executionId))) return;
  if (snapshot) await keepSnapshot(tx, run_id, snapshot);
  if (usage) await keepUsage(tx, run_id, usage);
}

/** A draining worker hands a run back: another goes on with it, and it costs no attempt. */
export async function release(
  tx: Tx,
  executionId: string,
  { run_id, snapshot }: { run_id: string; snapshot?: Snapshot | undefined },
): Promise<void> {
  const head = await lockHead(tx, run_id);
  if (head?.execution_id !== executionId) return;
  if (snapshot) await keepSnapshot(tx, run_id, snapshot);
  await abandonLease(tx, {
    runId: run_id,
    executionId,
    reason: "The worker handed the run back.",
    refund: true,
  });
  await endExecution(tx, { executionId, outcome: "RELEASED" });
}
