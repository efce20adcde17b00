import type { MCPServerConfig } from "@outrider/contract/agent-config";
import type { RunEvent } from "@outrider/contract/event";
import { noUsage } from "@outrider/contract/run";
import type { Assignment, ClaimRequest } from "@outrider/contract/worker";
import { claimWork, type Work } from "../store/claims.ts";
import type { Sql, Tx } from "../store/db.ts";
import { listSealedSecrets } from "../store/secrets.ts";
import { environmentOfRun } from "./builds.ts";
import type { Models } from "./models.ts";
import type { Rules } from "./rules.ts";
import type { Vault } from "./vault.ts";

/** Events that come with an assignment; a longer log is read page by page. */
const HISTORY = 200;

interface ClaimServices {
  vault: Vault;
  models: Models;
  rules: Rules;
  gitHost: string;
}

export interface Claimed {
  executions: Assignment[];
  draining: boolean;
}

/** As many runs as the worker can take and the limits allow, in one statement, and what their worker needs for them. */
export async function claim(sql: Sql, services: ClaimServices, request: ClaimRequest): Promise<Claimed> {
  const { work, draining } = await claimWork(sql, request, { ...services.rules, history: HISTORY + 1 });
  return { executions: await assignAll(sql, services, work), draining };
}

/** For a claim that waits: the run that this transaction creates, if it would be next. */
export async function claimNew(tx: Tx, rules: Rules, request: ClaimRequest, runId: string): Promise<Work[]> {
  return (await claimWork(tx, request, { ...rules, history: HISTORY + 1 }, runId)).work;
}

export async function assignAll(sql: Sql, services: ClaimServices, work: Work[]): Promise<Assignment[]> {
  const executions: Assignment[] = [];
  for (const one of work) executions.push(await assign(sql, services, one));
  return executions;
}

async function assign(sql: Sql, services: ClaimServices, work: Work): Promise<Assignment> {
  const { vault, models, rules } = services;
  const { run_id, execution_id, turn, attempt, limits, usage, turn_left_ms, history } = work;
  const { snapshot, receipt, output_schema } = work;
  return {
    execution_id,
    run_id,
    turn,
    attempt,
    lease_ms: rules.leaseMs,
    agent_config: unmasked(work, vault),
    model: models.work(work.agent_config.model_id ?? models.list.default_model_id),
    git_host: services.gitHost,
    limits: {
      max_steps: limits?.max_steps ?? rules.maxSteps,
      ...(limits?.max_cost_usd === undefined ? {} : { max_cost_usd: limits.max_cost_usd }),
      timeout_ms: Math.max(0, Math.round(turn_left_ms)),
    },
    usage: usage ?? noUsage,
    ...(work.has_environment ? await environmentOfRun(sql, services, run_id) : {}),
    ...(output_schema ? { output_schema } : {}),
    ...(receipt ? { receipt } : {}),
    ...(snapshot ? { snapshot } : {}),
    variables: work.environment_variables,
    secrets: await secretsOf(sql, vault, work),
    history: history.slice(0, HISTORY).map(timed),
    history_goes_on: history.length > HISTORY,
  };
}

/** Inside JSON, the database writes times in a way of its own. */
function timed(event: RunEvent): RunEvent {
  return { ...event, created_at: new Date(event.created_at).toISOString() };
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
  sql: Sql,
  vault: Vault,
  { environment_secrets }: Work,
): Promise<Record<string, string>> {
  if (environment_secrets.length === 0) return {};
  const sealed = await listSealedSecrets(sql, environment_secrets);
  return Object.fromEntries(
    sealed.map(({ name, sealed: value }) => [name, vault.open(value, `secret ${name}`)]),
  );
}
