import type { MCPServerConfig } from "@outrider/contract/agent-config";
import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import type { LoggedEvent } from "@outrider/contract/event";
import { zeroUsage } from "@outrider/contract/run";
import type { Assignment, ClaimRequest } from "@outrider/contract/worker";
import { findOtherSandbox } from "../../store/builds.ts";
import type { Sql, Tx } from "../../store/connection/db.ts";
import { inTransaction } from "../../store/connection/transaction.ts";
import { type ClaimedWork, claimBatch, type Work } from "../../store/dispatch/claims.ts";
import { abandonLease, isIsolated } from "../../store/dispatch/leases.ts";
import { requireSandbox } from "../../store/dispatch/requirements.ts";
import { omitNullPrivate } from "../../store/runs/events.ts";
import { lockRunState } from "../../store/runs/run-state.ts";
import { listSealedSecrets } from "../../store/secrets.ts";
import type { Vault } from "../auth/vault.ts";
import { environmentOfRun } from "../builds/builds.ts";
import type { Harnesses } from "../harnesses/harnesses.ts";
import type { Models } from "../models/models.ts";
import { assignPublishing } from "../publishing/run-repositories.ts";
import type { RunPolicy } from "../runs/run-policy.ts";
import { placeOf } from "./pools.ts";

/*
 * This module assigns runs to workers:
 *
 * 1. A worker with free slots sends a claim, which may wait (long polling) until a run is available (claimer.ts).
 * 2. The SQL function outrider_claim_batch chooses the next runs for all workers that wait at a server, moves them to
 *    INPROGRESS, creates a lease with a new execution ID for each, and returns everything the workers need, all in one
 *    statement and one transaction. An advisory lock serializes claims, so concurrency limits are never exceeded.
 * 3. `assignAll` turns the rows into assignments: it decrypts secrets and MCP servers, resolves the model and adds the
 *    environment. This happens after the claim's transaction, because it does not need the lock.
 * 4. The worker renews the lease with heartbeats. If the heartbeats stop, the reaper revokes the lease (reaper.ts).
 *
 * The files of a run that started from a build can be opened only in the kind of sandboxes that made the build. If a worker
 * of another kind claims a later turn of such a run, `assignAll` returns the run to the queue, where it waits for a worker of
 * that kind.
 *
 * Claims are idempotent: if the response is lost, repeating the claim with the same request ID returns the same runs.
 *
 * As a shortcut, the transaction that creates a run can also assign it to a claim waiting on the same server
 * (waiting-claims.ts, `claimNew`). This applies only to the new run, only if that run would be next anyway, and only if
 * the claim lock is free.
 */

/** The maximum number of events in an assignment. The worker fetches the rest of a longer log page by page. */
const HISTORY = 200;

export interface ClaimServices {
  vault: Vault;
  models: Models;
  harnesses: Harnesses;
  policy: RunPolicy;
  gitHost: string;
}

/** Claims runs for several workers of a pool. Returns what each request got, and whether runs are still queued. */
export async function claimForAll(
  sql: Sql,
  { policy }: Pick<ClaimServices, "policy">,
  pool: string,
  requests: ClaimRequest[],
): Promise<{ claimed: Map<string, ClaimedWork>; hasMore: boolean }> {
  const claims = requests.map((request) => ({ ...request, labels: placeOf(request.worker).labels }));
  return claimBatch(sql, { pool, claims }, { ...policy, history: HISTORY + 1 });
}

/** Assigns the run that this transaction is creating to a waiting claim, if that run would be next in the queue. */
export async function claimNew(
  tx: Tx,
  policy: RunPolicy,
  request: ClaimRequest,
  runId: string,
): Promise<Work[]> {
  const { pool, labels } = placeOf(request.worker);
  const limits = { ...policy, history: HISTORY + 1 };
  const { claimed } = await claimBatch(tx, { pool, claims: [{ ...request, labels }] }, limits, runId);
  // A repeated request gets what it claimed before. The claimer returns that to the worker.
  return claimed.get(request.request_id)?.work.filter((work) => work.run_id === runId) ?? [];
}

export async function assignAll(sql: Sql, services: ClaimServices, work: Work[]): Promise<Assignment[]> {
  const executions: Assignment[] = [];
  for (const item of work)
    if (!(await isReturned(sql, item))) executions.push(await assign(sql, services, item));
  return executions;
}

/** Returns the run to the queue if the worker cannot open its files. */
async function isReturned(sql: Sql, { run_id, execution_id, turn, attempt, has_environment }: Work) {
  // The first attempt has no build yet.
  if (!has_environment || (turn === 1 && attempt === 1)) return false;
  const sandbox = await findOtherSandbox(sql, { runId: run_id, executionId: execution_id });
  if (sandbox === undefined) return false;
  await inTransaction(sql, async (tx) => {
    const runState = await lockRunState(tx, run_id);
    if (runState?.execution_id !== execution_id) return;
    if (!(await requireSandbox(tx, run_id, sandbox))) throw new Error("There are too many requirements.");
    await abandonLease(tx, {
      ...{ runId: run_id, executionId: execution_id, outcome: "RELEASED", refund: true },
      reason: `The run's files are those of a build for sandboxes of the kind \`${sandbox}\`, which this worker does not have.`,
    });
  });
  return true;
}

async function assign(sql: Sql, services: ClaimServices, work: Work): Promise<Assignment> {
  const { vault, models, harnesses, policy } = services;
  const { run_id, execution_id, turn, attempt, limits, usage, turn_left_ms, history } = work;
  const { snapshot, receipt, output_schema } = work;
  const { harness: name = DEFAULT_HARNESS, publish, ...config } = withoutPlace(unmaskConfig(work, vault));
  const modelId = config.model_id ?? models.list.default_model_id;
  const hasMcpServers = Object.keys(config.mcp_servers ?? {}).length > 0;
  const prepared = work.has_environment ? await environmentOfRun(sql, services, run_id) : {};
  const hasRepositories = (prepared.environment?.repos.length ?? 0) > 0;
  const harness = harnesses.assign({ name, modelId, hasMcpServers });
  return {
    execution_id,
    run_id,
    turn,
    attempt,
    ...(mayBeIsolated(work) && (await isIsolated(sql, run_id)) ? { is_isolated: true } : {}),
    lease_ms: policy.leaseMs,
    agent_config: config,
    ...(harness ? { harness } : {}),
    model: models.work(modelId),
    git_host: services.gitHost,
    limits: {
      max_steps: limits?.max_steps ?? policy.maxSteps,
      ...(limits?.max_cost_usd === undefined ? {} : { max_cost_usd: limits.max_cost_usd }),
      timeout_ms: Math.max(0, Math.round(turn_left_ms)),
    },
    usage: usage ?? zeroUsage,
    ...prepared,
    ...(hasRepositories ? await assignPublishing(sql, services, run_id) : {}),
    ...(output_schema ? { output_schema } : {}),
    ...(receipt ? { receipt } : {}),
    ...(snapshot ? { snapshot } : {}),
    variables: work.environment_variables,
    secrets: await openSecrets(sql, vault, work),
    history: history.slice(0, HISTORY).map(toAssigned),
    has_more_history: history.length > HISTORY,
  };
}

/** Only a run that was interrupted can be isolated. The log of most runs shows that they were not, without a query. */
function mayBeIsolated({ history }: Work): boolean {
  return history.length > HISTORY || history.some(({ type }) => type === "run.recovering");
}

/** Converts the event's time to the API's format, because PostgreSQL formats times in JSON differently. */
function toAssigned(event: LoggedEvent): LoggedEvent {
  return { ...omitNullPrivate(event), created_at: new Date(event.created_at).toISOString() };
}

export function unmaskConfig(
  { run_id, agent_config, sealed_config }: Pick<Work, "run_id" | "agent_config" | "sealed_config">,
  vault: Vault,
): Assignment["agent_config"] {
  if (!sealed_config) return agent_config;
  const mcp_servers = JSON.parse(vault.open(sealed_config, `run ${run_id}`)) as Record<
    string,
    MCPServerConfig
  >;
  return { ...agent_config, mcp_servers };
}

/** Removes what selects workers, because workers of an older version would reject it. */
export function withoutPlace({
  sandbox: _,
  worker_host: _host,
  worker_selector: _selector,
  ...config
}: Assignment["agent_config"]): Assignment["agent_config"] {
  return config;
}

export async function openSecrets(
  sql: Sql,
  vault: Vault,
  { environment_secrets }: Pick<Work, "environment_secrets">,
): Promise<Record<string, string>> {
  if (environment_secrets.length === 0) return {};
  const sealed = await listSealedSecrets(sql, environment_secrets);
  return Object.fromEntries(
    sealed.map(({ name, sealed: value }) => [name, vault.open(value, `secret ${name}`)]),
  );
}
