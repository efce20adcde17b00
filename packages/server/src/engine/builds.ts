import type { Build } from "@outrider/contract/build";
import type { CloudEnvironment, EnvironmentRequest } from "@outrider/contract/environment";
import { errorEntry } from "@outrider/contract/error";
import type {
  BuildAssignment,
  BuildFinishRequest,
  BuildReportRequest,
  EnvironmentWork,
  PrepareRequest,
  PrepareResponse,
  ReadyBuild,
} from "@outrider/contract/worker";
import { v7 as uuidv7 } from "uuid";
import {
  appendBuildEvents,
  completeBuild,
  failBuild,
  findBuildOfRun,
  findFailure,
  findReady,
  findReadyOf,
  findUnfinished,
  insertBuild,
  lockBuild,
  pinBuild,
  requeueBuild,
  takeBuild,
  wasFinishedBy,
} from "../store/builds.ts";
import type { Db, Sql, Tx } from "../store/db.ts";
import { findEnvironmentOfRun } from "../store/environments.ts";
import { listSealedSecrets } from "../store/secrets.ts";
import { requireExecution } from "./executions.ts";
import { Refusal } from "./refusal.ts";
import type { Rules } from "./rules.ts";
import type { Vault } from "./vault.ts";

/**
 * Builds: an environment made ready once for each content, by a worker. A run that finds no build of its content makes
 * one, or waits for who does. Where a branch has moved, the run starts from the build before, and the newer one is made
 * meanwhile by whoever has time.
 */

export async function requestBuild(tx: Tx, environment: CloudEnvironment): Promise<Build> {
  const { environment_id, version } = environment;
  if (environment.repos.length === 0 && environment.setup_commands.length === 0) {
    throw new Refusal(
      "conflict",
      "The environment has neither repositories nor setup commands to build from.",
    );
  }
  const build = { build_id: uuidv7(), environment_id, version, config: contentOf(environment) };
  return (await insertBuild(tx, build)) as Build;
}

/** What goes into a build, and what making it takes. */
function contentOf({
  repos,
  setup_commands,
  network,
  resources,
}: Omit<EnvironmentRequest, "name">): Omit<EnvironmentRequest, "name"> {
  return {
    ...(repos ? { repos } : {}),
    ...(setup_commands ? { setup_commands } : {}),
    ...(network ? { network } : {}),
    ...(resources ? { resources } : {}),
  };
}

export async function prepare(
  tx: Tx,
  rules: Rules,
  executionId: string,
  request: PrepareRequest,
): Promise<{ response: PrepareResponse; queued: boolean }> {
  const { key, repositories, worker_id, waiting_for } = request;
  const runId = await requireExecution(tx, executionId);
  const environment = await findEnvironmentOfRun(tx, runId);
  if (!environment) throw new Refusal("conflict", "The run has no environment.");
  const { environment_id, version, config } = environment;

  const ready = await findReady(tx, key);
  const older = ready ? undefined : await findReadyOf(tx, { environmentId: environment_id, version });
  const build = ready ?? older;
  const wanted = {
    build_id: uuidv7(),
    environment_id,
    version,
    config: contentOf(config),
    key,
    repositories,
  };
  if (build) {
    await pinBuild(tx, runId, build.build_id);
    const queued = older ? await insertBuild(tx, wanted) : undefined;
    return { response: { state: "ready", build }, queued: queued !== undefined };
  }
  const failure = waiting_for && (await findFailure(tx, waiting_for));
  if (failure) {
    return {
      response: { state: "failed", build_id: waiting_for, status_message: failure },
      queued: false,
    };
  }
  await insertBuild(tx, wanted);
  const unfinished = await findUnfinished(tx, key);
  const taken =
    unfinished?.is_free &&
    (await takeBuild(tx, { workerId: worker_id, leaseMs: rules.leaseMs }, unfinished.build_id));
  const build_id = unfinished?.build_id ?? wanted.build_id;
  return {
    response: taken
      ? { state: "yours", build_id, token: taken.token, lease_ms: rules.leaseMs }
      : { state: "building", build_id },
    queued: false,
  };
}

/** A build that no run waits for, for a worker with nothing else to do. */
export async function takeQueuedBuild(
  db: Db,
  { vault, rules, gitHost }: { vault: Vault; rules: Rules; gitHost: string },
  workerId: string,
): Promise<BuildAssignment | undefined> {
  return db.begin(async (tx) => {
    const taken = await takeBuild(tx, { workerId, leaseMs: rules.leaseMs });
    if (!taken) return undefined;
    const { build_id, token, environment_id, version, config, attempt } = taken;
    if (attempt > rules.maxAttempts) {
      await fail(tx, build_id, { error_code: "worker_lost", message: "Each worker that made it was lost." });
      return undefined;
    }
    const environment = await environmentWork(tx, { vault, gitHost }, { environment_id, version, config });
    return { build_id, token, lease_ms: rules.leaseMs, environment };
  });
}

/** Where a run executes: its environment, and the build that its earlier turns started from. */
export async function environmentOfRun(
  sql: Sql,
  services: { vault: Vault; gitHost: string },
  runId: string,
): Promise<{ environment?: EnvironmentWork; build?: ReadyBuild }> {
  const environment = await findEnvironmentOfRun(sql, runId);
  if (!environment) return {};
  const build = await findBuildOfRun(sql, runId);
  return { environment: await environmentWork(sql, services, environment), ...(build ? { build } : {}) };
}

/** An environment as workers need it, with what its repositories are fetched with. */
export async function environmentWork(
  sql: Sql,
  { vault, gitHost }: { vault: Vault; gitHost: string },
  environment: { environment_id: string; version: number; config: Omit<EnvironmentRequest, "name"> },
): Promise<EnvironmentWork> {
  const { repos = [], setup_commands = [], network = { mode: "none" }, resources } = environment.config;
  const names = [...new Set(repos.flatMap(({ secret }) => secret ?? []))];
  const sealed = names.length > 0 ? await listSealedSecrets(sql, names) : [];
  return {
    environment_id: environment.environment_id,
    version: environment.version,
    repos: repos.map((repo) => workOf(repo, gitHost)),
    setup_commands,
    network,
    ...(resources ? { resources } : {}),
    credentials: Object.fromEntries(
      sealed.map(({ name, sealed: value }) => [name, vault.open(value, `secret ${name}`)]),
    ),
  };
}

function workOf(
  { url, owner, repo, ref, path, secret }: NonNullable<EnvironmentRequest["repos"]>[number],
  gitHost: string,
) {
  const address = url ?? `${gitHost}/${owner}/${repo}.git`;
  const name = repo ?? (address.split(/[/:]/).filter(Boolean).at(-1) as string).replace(/\.git$/, "");
  return { url: address, path: path ?? name, ...(ref ? { ref } : {}), ...(secret ? { secret } : {}) };
}

export async function reportBuild(
  tx: Tx,
  rules: Rules,
  buildId: string,
  { token, batch, events }: BuildReportRequest,
): Promise<void> {
  const build = await requireLease(tx, rules, buildId, token);
  if (batch === build.report_batch) return;
  if (batch !== build.report_batch + 1) {
    throw new Refusal("conflict", `Batch ${build.report_batch + 1} is expected, not ${batch}.`);
  }
  await appendBuildEvents(tx, { buildId, batch, events });
}

export async function finishBuild(
  tx: Tx,
  rules: Rules,
  buildId: string,
  { token, events, outcome }: BuildFinishRequest,
): Promise<void> {
  if (await wasFinishedBy(tx, buildId, token)) return;
  await requireLease(tx, rules, buildId, token);
  await appendBuildEvents(tx, { buildId, events });
  if (outcome.type === "ready") await completeBuild(tx, buildId, outcome);
  else if (outcome.type === "abandoned") await requeueBuild(tx, buildId);
  else await fail(tx, buildId, outcome);
}

async function requireLease(tx: Tx, rules: Rules, buildId: string, token: string) {
  const build = await lockBuild(tx, { buildId, token, leaseMs: rules.leaseMs });
  if (!build) throw new Refusal("conflict", "The build is not, or no longer, this worker's.");
  return build;
}

async function fail(
  tx: Tx,
  buildId: string,
  { error_code, message }: { error_code: Parameters<typeof errorEntry>[0]; message: string },
): Promise<void> {
  const { retryable, remedy } = errorEntry(error_code);
  await failBuild(tx, buildId, { message, error_code, retryable, remedy });
}
