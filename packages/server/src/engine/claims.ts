import type { MCPServerConfig } from "@outrider/contract/agent-config";
import { noUsage } from "@outrider/contract/run";
import type { Assignment, ClaimRequest } from "@outrider/contract/worker";
import type { Db, Tx } from "../store/db.ts";
import { listEvents } from "../store/events.ts";
import {
  countBusy,
  findLeasesOf,
  type Lease,
  listAbandoned,
  listConcurrencyLimits,
  listQueued,
  listWaiting,
  lockClaims,
  recordClaims,
  takeLeases,
} from "../store/leases.ts";
import { findWork, type Work } from "../store/runs.ts";
import { listSealedSecrets } from "../store/secrets.ts";
import { seeWorker } from "../store/workers.ts";
import { deliverFollowups } from "./events.ts";
import { Concurrency, pick } from "./limits.ts";
import type { Rules } from "./rules.ts";
import type { Vault } from "./vault.ts";

/** Events that come with an assignment; a longer log is read page by page. */
const HISTORY = 200;

export interface Claimed {
  executions: Assignment[];
  draining: boolean;
}

/** As many runs as the worker can take and the limits allow, in one transaction. */
export async function claim(
  db: Db,
  { vault, rules }: { vault: Vault; rules: Rules },
  request: ClaimRequest,
): Promise<Claimed> {
  return db.begin(async (tx) => {
    // A claim whose answer was lost is repeated: what it took is given again, and nothing more.
    const [draining, before] = await Promise.all([
      seeWorker(tx, request.worker),
      findLeasesOf(tx, request.request_id),
    ]);
    const leases = before.length > 0 || draining ? before : await takeNext(tx, rules, request);
    return { executions: await assign(tx, { vault, rules }, leases), draining };
  });
}

async function takeNext(tx: Tx, rules: Rules, { worker, free, request_id }: ClaimRequest): Promise<Lease[]> {
  // Sent together and carried out in order: the counts are taken under the lock, without waiting for each answer.
  const [, limits, busy, abandoned] = await Promise.all([
    lockClaims(tx),
    listConcurrencyLimits(tx),
    countBusy(tx),
    listAbandoned(tx, free),
  ]);
  const concurrency = new Concurrency({ limits, busy, total: rules.maxConcurrentRuns });
  const without = {
    owners: concurrency.full("agent"),
    keys: concurrency.full("key"),
    environments: concurrency.full("environment"),
  };
  const queued = abandoned.length < free ? await listQueued(tx, { each: free, without }) : [];
  const picked = [...abandoned, ...pick(queued, concurrency, free - abandoned.length)];
  if (picked.length === 0) return [];
  const runIds = picked.map(({ run_id }) => run_id);
  const work = new Map((await findWork(tx, runIds)).map((one) => [one.run_id, one]));
  const timeouts = runIds.map((runId) => timeoutOf(work.get(runId), rules));
  const leases = await takeLeases(tx, {
    runIds,
    timeouts,
    workerId: worker.worker_id,
    leaseMs: rules.leaseMs,
  });
  if (leases.length === 0) return [];
  // Asked under the runs' locks: a message that came while the claim waited for one belongs to it.
  const [waiting] = await Promise.all([
    listWaiting(
      tx,
      leases.map(({ run_id }) => run_id),
    ),
    recordClaims(tx, {
      leases,
      workerId: worker.worker_id,
      workerName: worker.name,
      requestId: request_id,
    }),
  ]);
  for (const { run_id, execution_id, resumed } of waiting) {
    await deliverFollowups(tx, { runId: run_id, executionId: execution_id, batch: 0, steering: resumed });
  }
  return leases;
}

function timeoutOf(work: Work | undefined, rules: Rules): number {
  const minutes = work?.limits?.timeout_minutes ?? work?.environment_timeout_minutes;
  return minutes ? minutes * 60_000 : rules.turnMs;
}

async function assign(
  tx: Tx,
  { vault, rules }: { vault: Vault; rules: Rules },
  leases: Lease[],
): Promise<Assignment[]> {
  if (leases.length === 0) return [];
  const work = new Map(
    (
      await findWork(
        tx,
        leases.map(({ run_id }) => run_id),
      )
    ).map((one) => [one.run_id, one]),
  );
  const assignments: Assignment[] = [];
  for (const { run_id, execution_id, turn, attempt, usage, turn_left_ms } of leases) {
    const one = work.get(run_id) as Work;
    const history = await listEvents(tx, { runId: run_id, after: 0, limit: HISTORY + 1 });
    assignments.push({
      execution_id,
      run_id,
      turn,
      attempt,
      lease_ms: rules.leaseMs,
      agent_config: unmasked(one, vault),
      limits: {
        max_steps: one.limits?.max_steps ?? rules.maxSteps,
        ...(one.limits?.max_cost_usd === undefined ? {} : { max_cost_usd: one.limits.max_cost_usd }),
        timeout_ms: Math.max(0, Math.round(turn_left_ms)),
      },
      usage: usage ?? noUsage,
      ...(one.snapshot ? { snapshot: one.snapshot } : {}),
      without_effect: withoutEffect(one),
      variables: one.environment_variables,
      secrets: await secretsOf(tx, vault, one),
      history: history.slice(0, HISTORY),
      history_goes_on: history.length > HISTORY,
    });
  }
  return assignments;
}

/** What a run asks for and workers do not act on yet. It stands in the transcript: nothing is ignored in silence. */
function withoutEffect({
  agent_config,
  environment_members,
  has_output_schema,
  has_attachments,
}: Work): string[] {
  const ofConfig = (["skill_spec", "mcp_servers"] as const).filter(
    (member) => agent_config[member] !== undefined,
  );
  const ofEnvironment = environment_members.filter((member) =>
    ["repos", "setup_commands", "network", "resources"].includes(member),
  );
  return [
    ...ofConfig.map((member) => `config.${member}`),
    ...ofEnvironment.map((member) => `the environment's ${member}`),
    ...(has_output_schema ? ["output_schema"] : []),
    ...(has_attachments ? ["attachments"] : []),
  ];
}

function unmasked({ run_id, agent_config, sealed_config }: Work, vault: Vault): Assignment["agent_config"] {
  if (!sealed_config) return agent_config;
  const mcp_servers = JSON.parse(vault.open(sealed_config, `run ${run_id}`)) as Record<
    string,
    MCPServerConfig
  >;
  return { ...agent_config, mcp_servers };
}

async function secretsOf(
  tx: Tx,
  vault: Vault,
  { environment_secrets }: Work,
): Promise<Record<string, string>> {
  if (environment_secrets.length === 0) return {};
  const sealed = await listSealedSecrets(tx, environment_secrets);
  return Object.fromEntries(
    sealed.map(({ name, sealed: value }) => [name, vault.open(value, `secret ${name}`)]),
  );
}
