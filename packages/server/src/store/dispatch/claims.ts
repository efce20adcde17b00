import type { AmbientAgentConfig } from "@outrider/contract/agent-config";
import type { LoggedEvent } from "@outrider/contract/event";
import type { RunLimits, RunReceipt, RunUsage } from "@outrider/contract/run";
import type { ClaimRequest, Snapshot } from "@outrider/contract/worker";
import type { Sql } from "../connection/db.ts";

/** A claimed run, with everything a worker needs to execute it. */
export interface Work {
  run_id: string;
  execution_id: string;
  turn: number;
  attempt: number;
  usage: RunUsage | null;
  /** Milliseconds until the turn's deadline. */
  turn_left_ms: number;
  agent_config: AmbientAgentConfig;
  sealed_config: Buffer | null;
  limits: RunLimits | null;
  environment_secrets: string[];
  environment_variables: Record<string, string>;
  has_environment: boolean;
  output_schema: Record<string, unknown> | null;
  receipt: RunReceipt | null;
  snapshot: Snapshot | null;
  /** The first events in the run's log. */
  history: LoggedEvent[];
}

export interface ClaimLimits {
  leaseMs: number;
  turnMs: number;
  maxConcurrentRuns?: number;
}

/**
 * Claims runs for a worker in one statement; see functions/outrider_claim_runs.sql. With `onlyRun`, it claims only that run,
 * and must be the last statement in the transaction that creates the run.
 */
export async function claimWork(
  sql: Sql,
  { worker, request_id, free, takes_harnesses }: Omit<ClaimRequest, "wait_ms">,
  { leaseMs, turnMs, maxConcurrentRuns, history }: ClaimLimits & { history: number },
  onlyRun?: string,
): Promise<{ work: Work[]; draining: boolean }> {
  const rows = await sql<({ draining: boolean } & (Work | { run_id: null }))[]>`
    select * from outrider_claim_runs(${worker.worker_id}, ${worker.name}, ${worker.version}, ${worker.slots}, ${request_id},
      ${free}, ${leaseMs}, ${turnMs}, ${maxConcurrentRuns ?? null}, ${history}, ${onlyRun ?? null},
      ${takes_harnesses ?? false})`;
  const work = rows.filter((row) => row.run_id !== null);
  return { work, draining: rows[0]?.draining ?? false };
}
