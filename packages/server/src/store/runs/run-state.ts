import type { NewEvent } from "@outrider/contract/event";
import { type RunPhase, type RunState, type RunStatusMessage, transitions } from "@outrider/contract/run";
import type { Sql, Tx } from "../connection/db.ts";
import { type GroupedWrite, writeGrouped } from "../connection/grouped-writes.ts";
import { json } from "../connection/json.ts";
import { hasOutput, type Report } from "./events.ts";

export interface RunStateRow {
  run_id: string;
  state: RunState;
  turn: number;
  attempt: number;
  last_seq: number;
  /** The execution that holds the lease. Only this execution may write to the run. */
  execution_id: string | null;
  worker_id: string | null;
  report_batch: number;
  /** True if the run must execute in a worker process of its own. */
  is_isolated: boolean;
  /** How often the turn was interrupted because its worker process became unresponsive. */
  interruptions: number;
}

function columns(sql: Sql) {
  return sql`run_id, state, turn, attempt, last_seq, execution_id, worker_id, report_batch, is_isolated, interruptions`;
}

/** Locks the run until the transaction ends. Every transaction that writes to a run must hold this lock. */
export async function lockRunState(tx: Tx, runId: string): Promise<RunStateRow | undefined> {
  const [row] = await tx<
    RunStateRow[]
  >`select ${columns(tx)} from run_state where run_id = ${runId} for update`;
  return row;
}

export async function findRunState(sql: Sql, runId: string): Promise<RunStateRow | undefined> {
  const [row] = await sql<RunStateRow[]>`select ${columns(sql)} from run_state where run_id = ${runId}`;
  return row;
}

export async function findRunStates(sql: Sql, runIds: string[]): Promise<RunStateRow[]> {
  return sql<RunStateRow[]>`select ${columns(sql)} from run_state where run_id = any(${runIds}::uuid[])`;
}

export interface StateChange {
  to: Exclude<RunState, "INPROGRESS">;
  phase: RunPhase;
  /** The event that records the change in the run's log. */
  event: NewEvent;
  status_message?: RunStatusMessage;
  newTurn?: boolean;
  /** How long the execution may still store its sandbox's final state after its lease has ended. */
  closingMs?: number;
  /** How long the execution's worker keeps the sandbox warm. */
  warmMinutes?: number;
  /** The batch that ends the turn, so that it can be recognized if it is repeated. */
  finalBatch?: number;
}

/**
 * Changes a run's state, ends its lease and execution, and appends the event in one statement. Returns false and writes
 * nothing if `transitions` does not allow the change from the run's current state. The caller must hold the run's lock.
 */
export async function changeState(
  tx: Tx,
  { run_id, execution_id }: Pick<RunStateRow, "run_id" | "execution_id">,
  change: StateChange,
): Promise<boolean> {
  const { to, phase, event, status_message, newTurn = false } = change;
  const { closingMs = null, warmMinutes = null, finalBatch = null } = change;
  const [row] = await tx<{ changed: boolean }[]>`
    select outrider_change_state(${run_id}, ${execution_id}, ${statesBefore(to)}::text[], ${to}, ${phase},
      ${json(tx, event)}, ${json(tx, status_message)}, ${newTurn}, ${closingMs}, ${warmMinutes}, ${finalBatch}) as changed`;
  return row?.changed ?? false;
}

function statesBefore(to: RunState): string[] {
  return Object.entries(transitions).flatMap(([from, next]: [string, readonly RunState[]]) =>
    next.includes(to) ? [from] : [],
  );
}

export interface EndedTurn {
  /** Whether the run asks for a publication, but the worker did not report any commits because it is too old. */
  lacksCommits: boolean;
}

/**
 * Stores the execution's last report and ends the turn, in one statement with others that end at the same time. Returns undefined
 * and writes nothing if the lease is lost, the batch is not the next one, or a follow-up is queued.
 */
export async function appendFinalReport(
  sql: Sql,
  report: Report,
  change: StateChange,
): Promise<EndedTurn | undefined> {
  const { ended, lacks_commits } = await writeGrouped(sql, turnEnds, { report, change });
  return ended ? { lacksCommits: lacks_commits } : undefined;
}

interface TurnEnd {
  report: Report;
  change: StateChange;
}

const turnEnds: GroupedWrite<TurnEnd, { ended: boolean; lacks_commits: boolean }> = {
  async write(sql, ends, { waits }) {
    const rows = await sql<{ execution_id: string; ended: boolean | null; lacks_commits: boolean }[]>`
      select * from outrider_end_turns(${json(sql, ends.map(toArguments))}, ${waits})`;
    const byExecution = new Map(rows.map((row) => [row.execution_id, row]));
    return ends.map(({ report }) => {
      const { ended = null, lacks_commits = false } = byExecution.get(report.executionId) ?? {};
      return ended === null ? undefined : { ended, lacks_commits };
    });
  },
};

/** Returns an object for outrider_end_turns. */
function toArguments({ report, change }: TurnEnd) {
  const { runId, executionId, batch, phase, usage, receipt } = report;
  const { to, event, status_message, warmMinutes } = change;
  return {
    run_id: runId,
    execution_id: executionId,
    batch,
    events: [...report.events, event],
    phase,
    usage,
    receipt,
    has_output: hasOutput({ events: [...report.events, event] }),
    state: to,
    final_phase: change.phase,
    status_message,
    warm_minutes: warmMinutes,
  };
}

/** Updates the run's `updated_at`, so that lists and change streams show that the run has changed. */
export async function touchRun(tx: Tx, runId: string): Promise<void> {
  await tx`update runs set updated_at = outrider_now() where run_id = ${runId}`;
}

/**
 * Ends the execution's permission to store its sandbox's final state. Returns true if it was still valid, so only the
 * first call succeeds.
 */
export async function endClosing(tx: Tx, runId: string, executionId: string): Promise<boolean> {
  const { count } = await tx`
    update run_state set closing_execution_id = null, closing_until = null
    where run_id = ${runId} and closing_execution_id = ${executionId} and closing_until > outrider_now()`;
  return count > 0;
}
