/**
 * A build is an environment's prepared file system: its checked-out repositories after the setup commands have run.
 * Runs start from it, so that they do not repeat this work.
 *
 * Builds are identified by a key, the hash of their inputs: the repositories' commits, the setup commands, the
 * variables and the names of the build secrets. At most one build per key is in progress at a time. A worker makes a
 * build either because it claimed a queued build, or because the server answered a run's `prepare` call with "yours".
 *
 * The worker holds a lease on the build, with a token. Every report of log events extends the lease, and reports are
 * sent even if there are no events. If a report is rejected, the lease is lost: the build stops with the outcome
 * "abandoned". The sandbox's deadline follows the lease, as it does for runs.
 *
 * 1. Resolve each repository to a commit, read the devcontainer.json or Dockerfile if there is one, and fetch the
 *    commit, with its submodules and Git LFS files, into this worker's mirrors.
 * 2. Open a sandbox. With a Dockerfile, execute its instructions first (see dockerfiles/build-dockerfile.ts).
 * 3. Check out the repositories from what the worker sends, and run the setup commands, with the variables and the
 *    build secrets in their environment. The first command that fails ends the build.
 * 4. Kill what the commands left running, and reject files that contain a build secret, because the files become
 *    visible to every run of the environment. Then store the files: as a blob on the server, and as a local base to
 *    open sandboxes on (see build-bases.ts).
 * 5. Report the outcome. This happens even if the run that needed the build was cancelled, because other runs may be
 *    waiting for it. If the sandbox was lost, and another attempt can work, report none.
 */
import { createHash } from "node:crypto";
import { Failure } from "@outrider/agent/failure";
import type { ResolvedImage } from "@outrider/contract/image";
import type { CheckedOutRepository } from "@outrider/contract/run";
import type { FoundSkill } from "@outrider/contract/skill";
import type { BuildOutcome } from "@outrider/contract/worker/build";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import type { Devcontainer } from "../devcontainers/parse.ts";
import { readDevcontainer } from "../devcontainers/read.ts";
import { dockerfileKey, type ResolvedDockerfile, readDockerfile } from "../dockerfiles/read.ts";
import { runDockerfile } from "../dockerfiles/run-dockerfile.ts";
import type { EgressSessions } from "../egress/egress-session.ts";
import { RefusalSummary } from "../egress/refusal-summary.ts";
import { writeHomeFiles, writeImageFiles } from "../egress/sandbox-files.ts";
import { Redactor } from "../redaction/redact.ts";
import { checkoutScript } from "../repositories/checkout.ts";
import type { Repositories, Resolved } from "../repositories/repository.ts";
import { RepositoryError } from "../repositories/repository-error.ts";
import { checkSecretSize, listEnvironmentSecrets } from "../run/run-secrets.ts";
import { NotEnforceableError } from "../sandboxes/limits.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";
import {
  type Sandbox,
  SandboxImageError,
  SandboxLostError,
  type SandboxProvider,
} from "../sandboxes/sandbox.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { collectSkills } from "../skills/collect-skills.ts";
import type { BuildBases } from "./build-bases.ts";
import { type BuildLease, BuildLog } from "./build-log.ts";
import { BuildSandboxes } from "./build-sandboxes.ts";
import { addForgeCredentials } from "./forge-credentials.ts";
import { giveFilesToUser, imageForRuns, pullImage, resolveImage, resolveReference } from "./images.ts";
import { rejectLeftoverSecrets } from "./leftover-secrets.ts";
import {
  fetchRepositoryContents,
  mirrorRequests,
  type ResolvedRepository,
  repositoryOf,
} from "./repository-contents.ts";
import { type OnStep, type StepContext, type StepLog, StepRunner } from "./step-runner.ts";

/** Part of every key. Change it when the same commits and commands would produce different files. */
const FORMAT = "outrider-image-2";

/** What a build is made of, resolved to its current state. */
export interface ResolvedContents {
  repositories: ResolvedRepository[];
  devcontainer: Devcontainer | undefined;
  dockerfile: ResolvedDockerfile | undefined;
  /** With a Dockerfile, the image of its last stage. */
  image: ResolvedImage | undefined;
}

/** Resolves an environment's repositories to commits, and its image to a digest. */
export async function resolveContents(
  context: Pick<BuildContext, "repositories" | "provider">,
  environment: AssignedEnvironment,
  { signal, emitNotice }: { signal: AbortSignal; emitNotice(message: string): void },
): Promise<ResolvedContents> {
  const resolving = resolveRepositories(context.repositories, environment, { signal, emitNotice });
  const resolvingFile = resolving.then((resolved) => readDevcontainer(environment, resolved, signal));
  const resolveImageOf = (devcontainer: Devcontainer | undefined) =>
    resolveImage(context.provider, { environment, devcontainer, signal });
  const [repositories, devcontainer, image] = await Promise.all([
    resolving,
    resolvingFile,
    environment.devcontainer === undefined ? resolveImageOf(undefined) : resolvingFile.then(resolveImageOf),
  ]);
  const dockerfile = await readDockerfile(devcontainer?.dockerfile ?? environment.dockerfile, repositories, {
    resolveImage: (reference) => resolveReference(context.provider, reference, { environment, signal }),
    signal,
  });
  return { repositories, devcontainer, dockerfile, image: dockerfile?.base ?? image };
}

/** Resolves an environment's repositories to their current commits. */
export async function resolveRepositories(
  repositories: Repositories,
  { repos, credentials }: AssignedEnvironment,
  { signal, emitNotice }: { signal: AbortSignal; emitNotice(message: string): void },
): Promise<ResolvedRepository[]> {
  return Promise.all(
    repos.map(async (repo) => {
      const { url, path } = repo;
      const repository = repositoryOf(repo, credentials);
      const resolved: Resolved = await repositories.resolve(repository, { signal }).catch((error) => {
        throw error instanceof RepositoryError ? new Failure(error.code, error.message) : error;
      });
      for (const message of resolved.notices) emitNotice(`${url}: ${message}`);
      return { url, path, ...resolved };
    }),
  );
}

interface BuildInputs {
  repositories: CheckedOutRepository[];
  image: ResolvedImage | undefined;
  devcontainer: Devcontainer | undefined;
  dockerfile?: ResolvedDockerfile | undefined;
}

/** The kind whose builds have keys without it, as they had before there were other kinds. */
const DEFAULT_KIND = "local";

/**
 * Returns the hash of all build inputs. Builds with the same key contain the same files. The values of build secrets are
 * not inputs: a renewed token does not change what it downloads. The kind of the provider is one, because a build of
 * another kind cannot be opened.
 */
export function buildKey(
  { repos, setup_commands, variables = {}, build_secrets = {}, user }: AssignedEnvironment,
  { repositories, image, devcontainer, dockerfile }: BuildInputs,
  kind: string,
): string {
  const commits = repositories.map(({ url, path, commit, ref }) => ({ url, path, commit, ref }));
  const checkouts = repos.map(({ submodules = true, lfs = true, sparse_paths }) => ({
    submodules,
    lfs,
    sparse_paths,
  }));
  // The server stores variables as JSON, which does not preserve their order.
  const sortedVariables = Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1));
  const secretNames = Object.keys(build_secrets).sort();
  return createHash("sha256")
    .update(
      JSON.stringify([
        ...[FORMAT, image?.digest, user, commits, checkouts],
        ...[setup_commands, sortedVariables, secretNames],
        ...(devcontainer ? [devcontainer.forRuns, devcontainer.setupCommands] : []),
        ...(dockerfile ? dockerfileKey(dockerfile) : []),
        ...(kind === DEFAULT_KIND ? [] : [{ sandbox: kind }]),
      ]),
    )
    .digest("hex");
}

export const withoutMirrors = (repositories: ResolvedRepository[]): CheckedOutRepository[] =>
  repositories.map(({ url, path, commit, ref }) => ({ url, path, commit, ...(ref ? { ref } : {}) }));

export interface BuildContext {
  server: ServerClient;
  repositories: Repositories;
  provider: SandboxProvider;
  bases: BuildBases;
  egressSessions: EgressSessions;
  /** The folder for bundles with the network configuration of sandboxes. */
  networkFolder: string;
  /** Disk space limit for repository mirrors. */
  maxMirrorBytes: number;
  workerId: string;
}

interface MakeBuildOptions {
  build_id: string;
  /** The token of the build's lease. */
  token: string;
  environment: AssignedEnvironment;
  contents: ResolvedContents;
  log: StepLog;
  redactor: Redactor;
  /** Called with each opened sandbox. The caller must extend its deadline whenever the lease is extended. */
  onOpened(sandbox: Sandbox): void;
  onStep: OnStep;
  /** Called after the last step or after the first one that fails. The build is then not stored. */
  inspect?(sandbox: Sandbox, context: StepContext): Promise<void>;
}

/** Runs the steps of a build in a sandbox and stores the result. Rejects if another attempt can work. */
export async function makeBuild(context: BuildContext, options: MakeBuildOptions): Promise<BuildOutcome> {
  const { provider, bases, egressSessions, networkFolder } = context;
  const { build_id, environment, contents, log, redactor, onStep, onOpened, inspect } = options;
  const { repositories, devcontainer, dockerfile, image } = contents;
  const { setup_commands, variables, build_secrets = {} } = environment;
  const refusals = new RefusalSummary();
  let sandboxes: BuildSandboxes | undefined;
  let built: Awaited<ReturnType<typeof runDockerfile>> | undefined;
  try {
    const fetched = await fetchRepositoryContents(context.repositories, environment, {
      ...{ resolved: repositories, signal: log.signal },
      emitNotice: (message) => log.write({ type: "notice", data: { message } }),
    });
    for (const message of devcontainer?.notices ?? []) log.write({ type: "notice", data: { message } });
    const pull = (wanted: ResolvedImage) => pullImage(provider, { image: wanted, environment, log, onStep });
    const base = image && (await pull(image));
    const opening = new BuildSandboxes({
      ...{ buildId: build_id, environment, provider, egressSessions, networkFolder, log, refusals, onOpened },
    });
    sandboxes = opening;
    const createRunner = (opened: Sandbox) =>
      new StepRunner({
        ...{ sandbox: opened, log, redactor, onStep },
        env: opening.network(opened).environment,
        onFailed: inspect && ((context) => inspect(opened, context)),
      });
    built =
      dockerfile && base
        ? await runDockerfile(dockerfile, {
            ...{ provider, sandboxes, environment, base, pull, createRunner, redactor, log, onStep },
            buildId: build_id,
            // A shell can open only in a sandbox.
            builder: inspect ? undefined : provider.dockerfileBuilder,
            devcontainer: devcontainer?.forRuns,
          })
        : undefined;
    const forRuns = built?.forRuns ?? devcontainer?.forRuns;
    const pulled = base && imageForRuns(base, environment, forRuns);
    const sandbox = built?.sandbox ?? (await sandboxes.open(pulled));
    // Only now do the user and the variables of the Dockerfile exist.
    if (built && pulled) await sandbox.configureImage(pulled);
    const { environment: networkEnvironment } = sandboxes.network(sandbox);
    await writeHomeFiles(sandbox, sandboxes.network(sandbox));
    if (pulled) await writeImageFiles(sandbox, sandboxes.network(sandbox));
    const runner = createRunner(sandbox);
    for (const repository of fetched) {
      const { url, commit } = repository;
      const name = `check out ${url} at ${commit.slice(0, 12)}`;
      await runner.run(name, checkoutScript(repository), {
        ...{ withWorkerPrograms: true, asRoot: true },
        stdin: context.repositories.streamMirrors(mirrorRequests(repository), log),
      });
    }
    const [only] = repositories.length === 1 ? repositories : [];
    const env = { ...variables, ...build_secrets };
    const startFolder = only ? `${sandboxPaths.workspace}/${only.path}` : pulled?.workingFolder;
    if (devcontainer) {
      // These commands run as the user, to whom the checkouts do not belong yet.
      await giveFilesToUser(sandbox, log.signal);
      const folder = `${sandboxPaths.workspace}/${repositories[0]?.path}`;
      for (const command of devcontainer.setupCommands) await runner.run(command, command, { folder, env });
    }
    for (const command of setup_commands)
      await runner.run(command, command, { folder: startFolder, env, asRoot: true });
    if (inspect) {
      const all = { ...sandbox.commandEnvironment, ...networkEnvironment, ...env };
      await inspect(sandbox, { folder: startFolder, env: all, asRoot: true });
      return { type: "abandoned" };
    }
    await sandbox.kill();
    if (pulled) await giveFilesToUser(sandbox, log.signal);
    await rejectLeftoverSecrets(sandbox, build_secrets, log.signal);
    const skills = await listSkills(repositories, log);
    log.write({ type: "step", data: { name: "store", state: "started" } });
    const startedAt = performance.now();
    const { message, ...stored } = await bases.store(sandbox, {
      ...{ buildId: build_id, token: options.token, signal: log.signal },
      // Workers of the previous version read only archives. They cannot use images anyway.
      inChunks: image !== undefined,
    });
    log.write({ type: "output", data: { stream: "stdout", text: `${message}\n` } });
    const sizes = { size_bytes: stored.size_bytes, duration_ms: performance.now() - startedAt };
    log.write({ type: "step", data: { name: "store", state: "finished", ...sizes } });
    return {
      type: "ready",
      key: buildKey(environment, contents, provider.kind),
      ...stored,
      ...(forRuns ? { devcontainer: forRuns } : {}),
      ...(image ? { image } : {}),
      repositories: withoutMirrors(repositories),
      skills,
    };
  } catch (error) {
    if (log.signal.aborted) return { type: "abandoned" };
    if (isRecoverable(error)) throw error;
    const { error_code, message } = failedOutcome(error);
    return { type: "failed", error_code, message: refusals.appendTo(message) };
  } finally {
    await sandboxes?.closeAll();
    await built?.dispose().catch(() => {}); // a worker that starts removes it
  }
}

/** Lists the skills that users can choose. An error here does not fail the build. */
async function listSkills(repositories: ResolvedRepository[], log: StepLog): Promise<FoundSkill[]> {
  return collectSkills(repositories, log.signal).catch((error: Error) => {
    log.signal.throwIfAborted();
    log.write({ type: "notice", data: { message: `Cannot list skills: ${error.message}` } });
    return [];
  });
}

const isRecoverable = (error: unknown): error is SandboxLostError =>
  error instanceof SandboxLostError && error.isRecoverable;

function failedOutcome(error: unknown): Extract<BuildOutcome, { type: "failed" }> {
  if (error instanceof Failure) return { type: "failed", error_code: error.code, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  const isConfiguration = error instanceof NotEnforceableError || error instanceof SandboxImageError;
  const error_code = isConfiguration ? "environment_setup_failed" : "sandbox_lost";
  return { type: "failed", error_code, message };
}

interface RunBuildOptions {
  lease: BuildLease;
  environment: AssignedEnvironment;
  /** Set if the caller has already resolved them. */
  contents?: ResolvedContents;
  signal: AbortSignal;
  /** Reports steps to the run that is waiting for the build. */
  onStep?: OnStep;
}

/**
 * Makes a build and reports its outcome to the server. If its sandbox was lost for a reason that does not concern the build,
 * reports no outcome. Another attempt starts when the lease has expired, so the number of attempts is limited.
 */
export async function runBuild(context: BuildContext, options: RunBuildOptions): Promise<BuildOutcome> {
  const { lease, environment, signal, onStep = () => {} } = options;
  const { server, repositories: allRepositories } = context;
  const sandboxes: Sandbox[] = [];
  const secrets = listEnvironmentSecrets(environment);
  const secretSizeFailure = checkSecretSize(secrets);
  const redactor = new Redactor(secretSizeFailure ? [] : secrets);
  const log = new BuildLog({
    server,
    lease,
    redactor,
    signal,
    onExtended: (deadline) => {
      for (const sandbox of sandboxes) sandbox.extendDeadline(deadline);
    },
  });
  const emitNotice = (message: string) => log.write({ type: "notice", data: { message } });
  try {
    if (secretSizeFailure) throw secretSizeFailure;
    const { build_id, token } = lease;
    if (!options.contents) {
      const holder = { type: "build", build_id, token } as const;
      await addForgeCredentials(environment, { ...context, holder, redactor, signal: log.signal });
    }
    const contents =
      options.contents ?? (await resolveContents(context, environment, { signal: log.signal, emitNotice }));
    const outcome = await makeBuild(context, {
      build_id: lease.build_id,
      token: lease.token,
      environment,
      contents,
      log,
      redactor,
      onOpened: (opened) => sandboxes.push(opened),
      onStep,
    });
    return await finish(log, outcome);
  } catch (error) {
    if (!log.signal.aborted && isRecoverable(error)) {
      await log.abandon(`${error.message} Another attempt starts when the lease of this one has expired.`);
      return { type: "abandoned" };
    }
    return await finish(log, log.signal.aborted ? { type: "abandoned" } : failedOutcome(error));
  } finally {
    log.stop();
    void allRepositories.prune({ keep: [], maxBytes: context.maxMirrorBytes }).catch(() => {});
  }
}

async function finish(log: BuildLog, outcome: BuildOutcome): Promise<BuildOutcome> {
  await log.finish(outcome);
  return outcome;
}
