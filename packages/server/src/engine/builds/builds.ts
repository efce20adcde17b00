import type { Build } from "@outrider/contract/build";
import type { CloudEnvironment, EnvironmentRequest } from "@outrider/contract/environment";
import { errorEntry } from "@outrider/contract/errors/error";
import type { RunStatusMessage } from "@outrider/contract/run";
import type { WorkerInfo } from "@outrider/contract/worker";
import type {
  BuildAssignment,
  BuildFinishRequest,
  BuildReportRequest,
  PrepareRequest,
  PrepareResponse,
  ReadyBuild,
} from "@outrider/contract/worker/build";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import { v7 as uuidv7 } from "uuid";
import {
  appendBuildEvents,
  completeBuild,
  countRequested,
  failBuild,
  findBuildOfRun,
  findFailure,
  findReady,
  findReadyOf,
  findUnfinished,
  findUnfinishedOf,
  insertBuild,
  lockBuild,
  lockBuildRequests,
  pinBuild,
  requeueBuild,
  takeBuild,
  wasFinishedBy,
} from "../../store/builds.ts";
import type { Db, Sql, Tx } from "../../store/connection/db.ts";
import { findSandboxOf } from "../../store/dispatch/workers.ts";
import { findEnvironmentOfRun } from "../../store/environments.ts";
import { listSealedSecrets } from "../../store/secrets.ts";
import { ApiError, tooMany } from "../api-error.ts";
import type { Principal } from "../auth/principal.ts";
import type { Vault } from "../auth/vault.ts";
import { checkBatch } from "../batches.ts";
import { placeOf } from "../dispatch/pools.ts";
import { findForgesOf } from "../forges/forges.ts";
import { requireExecution } from "../runs/executions.ts";
import type { RunPolicy } from "../runs/run-policy.ts";

/*
 * A build is an environment that a worker has prepared by checking out repositories and running setup commands. Builds
 * with the same content (environment version and commits) have the same key.
 *
 * A run that needs a build calls `prepare`:
 * - If a build with the same key is ready, the run uses it.
 * - If a build of the same version with older commits is ready, the run uses that one, and the newer build is queued
 *   for an idle worker (`takeQueuedBuild`). Both were made in the kind of sandboxes that the run's worker has.
 * - If no build is ready, the run's worker builds it, or waits if another worker is already building it.
 */

/** How soon a caller with too many builds should try again. */
const RETRY_SECONDS = 10;

/**
 * Queues a build at a caller's request. If a build of the same version of the environment is queued or in progress, it
 * returns that build instead. Throws if the caller already has the maximum number of unfinished builds; a user's cloud
 * agents count toward the user's maximum.
 */
export async function requestBuild(
  tx: Tx,
  { maxBuildsPerUser }: RunPolicy,
  { userUid }: Principal,
  environment: CloudEnvironment,
): Promise<{ build: Build; isNew: boolean }> {
  const { environment_id, version } = environment;
  if (!needsBuild(environment)) {
    throw new ApiError(
      "conflict",
      "The environment has neither an image nor repositories nor setup commands to build from.",
    );
  }
  // Without these locks, concurrent requests could queue the same build twice or exceed the maximum.
  await lockBuildRequests(tx, { userUid, environmentId: environment_id });
  const unfinished = await findUnfinishedOf(tx, { environmentId: environment_id, version });
  if (unfinished) return { build: unfinished, isNew: false };
  if ((await countRequested(tx, userUid)) >= maxBuildsPerUser) {
    throw tooMany(
      `You have ${maxBuildsPerUser} unfinished builds, which is the maximum. Wait until one of them has finished.`,
      RETRY_SECONDS,
    );
  }
  const build = {
    build_id: uuidv7(),
    environment_id,
    version,
    config: contentOf(environment),
    requested_by: userUid,
  };
  return { build: (await insertBuild(tx, build)) as Build, isNew: true };
}

function needsBuild({ docker_image, repos, setup_commands }: CloudEnvironment): boolean {
  return docker_image !== undefined || repos.length > 0 || setup_commands.length > 0;
}

/** Returns the parts of an environment that a build depends on. */
function contentOf({
  docker_image,
  devcontainer,
  dockerfile,
  docker_image_secret,
  user,
  repos,
  setup_commands,
  variables,
  build_secrets,
  network,
  resources,
}: Omit<EnvironmentRequest, "name">): Omit<EnvironmentRequest, "name"> {
  return {
    ...(docker_image ? { docker_image } : {}),
    ...(devcontainer ? { devcontainer } : {}),
    ...(dockerfile ? { dockerfile } : {}),
    ...(docker_image_secret ? { docker_image_secret } : {}),
    ...(user ? { user } : {}),
    ...(repos ? { repos } : {}),
    ...(setup_commands ? { setup_commands } : {}),
    ...(variables ? { variables } : {}),
    ...(build_secrets ? { build_secrets } : {}),
    ...(network ? { network } : {}),
    ...(resources ? { resources } : {}),
  };
}

interface BuildError {
  error_code: Parameters<typeof errorEntry>[0];
  message: string;
}

/**
 * Workers of the previous version ignore `docker_image`, `devcontainer` and `dockerfile`, so they would use their own
 * system instead.
 */
const withoutImages: BuildError = {
  error_code: "environment_setup_failed",
  message: "This worker's version does not know images. Upgrade all workers.",
};

const lostInEachAttempt: BuildError = {
  error_code: "worker_lost",
  message: "The worker or its sandbox was lost in each attempt.",
};

export async function prepare(
  tx: Tx,
  policy: RunPolicy,
  executionId: string,
  request: PrepareRequest,
): Promise<{ response: PrepareResponse; queued: boolean }> {
  const { key, image, repositories, worker_id, waiting_for } = request;
  const runId = await requireExecution(tx, executionId);
  const environment = await findEnvironmentOfRun(tx, runId);
  if (!environment) throw new ApiError("conflict", "The run has no environment.");
  const { environment_id, version, config } = environment;

  const { docker_image, devcontainer, dockerfile } = config;
  if ((docker_image ?? devcontainer ?? dockerfile) !== undefined && !image) {
    const status_message = statusMessage(withoutImages);
    return { response: { state: "failed", build_id: uuidv7(), status_message }, queued: false };
  }
  const sandbox = await findSandboxOf(tx, worker_id);
  const ready = await findReady(tx, key);
  const older = ready
    ? undefined
    : await findReadyOf(tx, { environmentId: environment_id, version, sandbox });
  const build = ready ?? older;
  const wanted = {
    build_id: uuidv7(),
    environment_id,
    version,
    config: contentOf(config),
    key,
    ...(image ? { image } : {}),
    repositories,
    sandbox,
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
    (await takeBuild(tx, { workerId: worker_id, leaseMs: policy.leaseMs }, { buildId: unfinished.build_id }));
  const build_id = unfinished?.build_id ?? wanted.build_id;
  if (taken && taken.attempt > policy.maxAttempts) {
    await fail(tx, build_id, lostInEachAttempt);
    const status_message = statusMessage(lostInEachAttempt);
    return { response: { state: "failed", build_id, status_message }, queued: false };
  }
  return {
    response: taken
      ? { state: "yours", build_id, token: taken.token, lease_ms: policy.leaseMs }
      : { state: "building", build_id },
    queued: false,
  };
}

/** Assigns a queued build that no run is waiting for to an idle worker. */
export async function takeQueuedBuild(
  db: Db,
  { vault, policy, gitHost }: { vault: Vault; policy: RunPolicy; gitHost: string },
  worker: WorkerInfo,
): Promise<BuildAssignment | undefined> {
  return db.begin(async (tx) => {
    const builder = { workerId: worker.worker_id, leaseMs: policy.leaseMs };
    const taken = await takeBuild(tx, builder, { place: placeOf(worker) });
    if (!taken) return undefined;
    const { build_id, token, environment_id, version, config, attempt } = taken;
    if (attempt > policy.maxAttempts) {
      await fail(tx, build_id, lostInEachAttempt);
      return undefined;
    }
    const environment = await environmentWork(tx, { vault, gitHost }, { environment_id, version, config });
    return { build_id, token, lease_ms: policy.leaseMs, environment };
  });
}

/** Returns a run's environment and the build that its earlier turns started from. */
export async function environmentOfRun(
  sql: Sql,
  services: { vault: Vault; gitHost: string },
  runId: string,
): Promise<{ environment?: AssignedEnvironment; build?: ReadyBuild; image_build?: ReadyBuild }> {
  const environment = await findEnvironmentOfRun(sql, runId);
  if (!environment) return {};
  const build = await findBuildOfRun(sql, runId);
  const pinned = build && (build.image ? { image_build: build } : { build });
  return { environment: await environmentWork(sql, services, environment), ...pinned };
}

/** Returns an environment in the form that workers receive, including the values of secrets that its build needs. */
export async function environmentWork(
  sql: Sql,
  { vault, gitHost }: { vault: Vault; gitHost: string },
  environment: { environment_id: string; version: number; config: Omit<EnvironmentRequest, "name"> },
): Promise<AssignedEnvironment> {
  const { repos = [], setup_commands = [], variables = {}, build_secrets = [] } = environment.config;
  const { start_commands = [], network = { mode: "none" }, resources, git_author } = environment.config;
  const { checks, docker_image, devcontainer, dockerfile, docker_image_secret, user } = environment.config;
  const credentials = [docker_image_secret, ...repos.map(({ secret }) => secret)].flatMap(
    (name) => name ?? [],
  );
  const names = [...new Set([...credentials, ...build_secrets])];
  const sealed = names.length > 0 ? await listSealedSecrets(sql, names) : [];
  const valuesOf = (listed: string[]) =>
    Object.fromEntries(
      sealed
        .filter(({ name }) => listed.includes(name))
        .map(({ name, sealed: value }) => [name, vault.open(value, `secret ${name}`)]),
    );
  return {
    environment_id: environment.environment_id,
    version: environment.version,
    ...(docker_image ? { docker_image } : {}),
    ...(devcontainer ? { devcontainer } : {}),
    ...(dockerfile ? { dockerfile } : {}),
    ...(docker_image_secret ? { docker_image_secret } : {}),
    ...(user ? { user } : {}),
    repos: await assignRepos(sql, repos, gitHost),
    setup_commands,
    start_commands,
    variables,
    network,
    ...(network.allow?.includes("preset:git") ? { git_host: gitHost } : {}),
    ...(resources ? { resources } : {}),
    ...(git_author ? { git_author } : {}),
    ...(checks ? { checks } : {}),
    credentials: valuesOf(credentials),
    build_secrets: valuesOf(build_secrets),
  };
}

/** Returns repositories as workers receive them. A connected forge provides the credential if no secret is named. */
export async function assignRepos(
  sql: Sql,
  repos: NonNullable<EnvironmentRequest["repos"]>,
  gitHost: string,
): Promise<AssignedEnvironment["repos"]> {
  const resolved = repos.map((repo) => resolveRepo(repo, gitHost));
  const forges = await findForgesOf(
    sql,
    resolved.map(({ url, secret }) => (secret === undefined ? url : "")),
  );
  return resolved.map((repo, index) => {
    const forge = forges[index];
    return forge?.isHttps ? { ...repo, forge_id: forge.forgeId } : repo;
  });
}

export function resolveRepo(
  { url, owner, repo, path, publish, ...rest }: NonNullable<EnvironmentRequest["repos"]>[number],
  gitHost: string,
) {
  const address = url ?? `${gitHost}/${owner}/${repo}.git`;
  const name = repo ?? (address.split(/[/:]/).filter(Boolean).at(-1) as string).replace(/\.git$/, "");
  return { url: address, path: path ?? name, ...rest };
}

export async function reportBuild(
  tx: Tx,
  policy: RunPolicy,
  buildId: string,
  { token, batch, events }: BuildReportRequest,
): Promise<void> {
  const build = await requireLease(tx, policy, buildId, token);
  if (checkBatch(batch, build.report_batch) === "next")
    await appendBuildEvents(tx, { buildId, batch, events });
}

/**
 * Ends a build. The batch number is not checked, because a worker that stops a build abandons its report in flight,
 * and does not know whether the server stored it.
 */
export async function finishBuild(
  tx: Tx,
  policy: RunPolicy,
  buildId: string,
  { token, events, outcome }: BuildFinishRequest,
): Promise<void> {
  if (await wasFinishedBy(tx, buildId, token)) return;
  const { needs_image } = await requireLease(tx, policy, buildId, token);
  await appendBuildEvents(tx, { buildId, events });
  if (outcome.type === "ready" && needs_image && !outcome.image) await fail(tx, buildId, withoutImages);
  else if (outcome.type === "ready") await completeBuild(tx, buildId, outcome);
  else if (outcome.type === "abandoned") await requeueBuild(tx, buildId);
  else await fail(tx, buildId, outcome);
}

export async function requireLease(tx: Tx, policy: RunPolicy, buildId: string, token: string) {
  const build = await lockBuild(tx, { buildId, token, leaseMs: policy.leaseMs });
  if (!build) throw new ApiError("conflict", "The build does not belong to this worker.");
  return build;
}

async function fail(tx: Tx, buildId: string, error: BuildError): Promise<void> {
  await failBuild(tx, buildId, statusMessage(error));
}

function statusMessage({ error_code, message }: BuildError): RunStatusMessage {
  const { retryable, remedy } = errorEntry(error_code);
  return { message, error_code, retryable, remedy };
}
