import type { AmbientAgentConfig } from "@outrider/contract/agent-config";
import type { LoggedEvent } from "@outrider/contract/event";
import type { RunLimits, RunReceipt, RunUsage } from "@outrider/contract/run";
import type { ClaimRequest, Snapshot } from "@outrider/contract/worker";
import type { Sql } from "../connection/db.ts";
import { json } from "../connection/json.ts";

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

export interface BatchClaim extends Omit<ClaimRequest, "wait_ms" | "takes_shells"> {
  labels: Record<string, string>;
}

/** What a claim in a batch got. */
export interface ClaimedWork {
  work: Work[];
  draining: boolean;
}

/** Columns of outrider_claim_batch; see there. */
type ClaimedRow = { request_id: string | null; draining: boolean; has_more: boolean } & (
  | Work
  | { run_id: null }
);

/**
 * Claims runs of a pool for several workers in one statement; see functions/outrider_claim_batch.sql. Returns what each
 * request got, without those that got nothing, and whether runs are still queued. With `onlyRun`, it claims only that run,
 * and must be the last statement in the transaction that creates the run.
 */
export async function claimBatch(
  sql: Sql,
  { pool, claims }: { pool: string; claims: BatchClaim[] },
  { leaseMs, turnMs, maxConcurrentRuns, history }: ClaimLimits & { history: number },
  onlyRun?: string,
): Promise<{ claimed: Map<string, ClaimedWork>; hasMore: boolean }> {
  const requests = claims.map(({ worker, request_id, free, takes_harnesses, labels }) => {
    const { worker_id, name, version, slots } = worker;
    return { worker_id, name, version, slots, request_id, free, takes_harnesses, labels };
  });
  const rows = await sql<ClaimedRow[]>`
    select * from outrider_claim_batch(${pool}, ${json(sql, requests)}, ${leaseMs}, ${turnMs}, ${maxConcurrentRuns ?? null},
      ${history}, ${onlyRun ?? null})`;
  const claimed = new Map<string, ClaimedWork>();
  for (const { request_id, has_more: _, draining, ...work } of rows) {
    if (request_id === null) continue;
    const entry = claimed.get(request_id) ?? { work: [], draining };
    claimed.set(request_id, entry);
    if (work.run_id !== null) entry.work.push(work);
  }
  return { claimed, hasMore: rows.at(-1)?.has_more ?? false };
}
