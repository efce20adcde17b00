import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "@outrider/agent/failure";
import type { ErrorCode } from "@outrider/contract/errors/error";
import type { Assignment } from "@outrider/contract/worker";
import { giveFilesToUser } from "../builds/images.ts";
import { type FetchedRepository, mirrorRequests } from "../builds/repository-contents.ts";
import type { EgressSession } from "../egress/egress-session.ts";
import { networkBundles, writeHomeFiles } from "../egress/sandbox-files.ts";
import { createTextRedactor, type Redactor } from "../redaction/redact.ts";
import {
  type KnownObjects,
  knownObjectsScript,
  maxKnownBytes,
  parseKnownObjects,
} from "../repositories/known-objects.ts";
import type { Repositories } from "../repositories/repository.ts";
import { updateScript } from "../repositories/update-checkout.ts";
import { executionLabel } from "../run/execution-label.ts";
import type { PreparedRun } from "../run/prepare.ts";
import { NotEnforceableError } from "../sandboxes/limits.ts";
import {
  type Bundle,
  type ExecOptions,
  type Forward,
  type GitAuthor,
  type GitPush,
  type Sandbox,
  SandboxImageError,
  SandboxLostError,
  type SandboxProvider,
} from "../sandboxes/sandbox.ts";
import type { ServerClient } from "../server-client/server-client.ts";

const RESTORE_ATTEMPTS = 5;
const UPDATE_MS = 10 * 60_000;

/** Prepares a new sandbox before its first use. */
export type SandboxSetup = (sandbox: Sandbox) => Promise<void>;

interface OpenRunSandboxOptions {
  assignment: Assignment;
  provider: SandboxProvider;
  server: ServerClient;
  egress: EgressSession;
  prepared: PreparedRun | undefined;
  setups: readonly SandboxSetup[];
  redactor: Redactor;
  workingFolder: string;
  networkFolder: string;
  /** Files and ports in addition to those of the network. */
  bundles: Bundle[];
  forwards: Forward[];
  gitPushes: GitPush[];
  repositories: Repositories;
  deadline(): bigint;
  onNotice(message: string): void;
  /** Called when the sandbox is open, before its files are restored. */
  onOpened(sandbox: Sandbox): void;
  /** Ends the attempt, so that another one continues the run. */
  abandon(reason: string): void;
  signal: AbortSignal;
}

/**
 * Opens a run's sandbox on its build, restores the run's last snapshot or updates moved repositories, and runs the
 * setups. Rejects with a Failure if any of these steps fails.
 */
export async function openRunSandbox(options: OpenRunSandboxOptions): Promise<Sandbox> {
  const { provider, assignment, deadline, signal, egress, prepared, setups, redactor, onOpened } = options;
  const { repositories } = options;
  const { execution_id, run_id, snapshot, environment } = assignment;
  const { base, image, moved = [] } = prepared ?? {};
  try {
    const sandbox = await provider.open({
      // Commands in the sandbox can see its ID, for example in the paths of mounts.
      id: executionLabel(execution_id),
      deadline: deadline(),
      label: { run_id },
      ...(base ? { base } : {}),
      ...(image ? { image } : {}),
      workingFolder: options.workingFolder,
      gitAuthor: gitAuthorOf(assignment),
      gitPushes: options.gitPushes,
      ...(environment?.resources ? { limits: environment.resources } : {}),
      bundles: [...networkBundles(egress.inside, options.networkFolder), ...options.bundles],
      ...egress.option,
      forwards: [...(egress.option.forwards ?? []), ...options.forwards],
      onNotice: options.onNotice,
    });
    onOpened(sandbox);
    if (snapshot) await restoreSnapshot(sandbox, snapshot.sha256, options);
    else
      for (const repository of moved)
        await updateRepository(sandbox, repository, { repositories, redactor, signal });
    if (image && moved.length > 0) await giveFilesToUser(sandbox, signal);
    await writeHomeFiles(sandbox, egress.inside);
    for (const setup of setups) await setup(sandbox);
    return sandbox;
  } catch (error) {
    if (error instanceof SandboxLostError && error.isRecoverable) options.abandon(error.message);
    signal.throwIfAborted();
    const message = `Cannot open the sandbox: ${(error as Error).message}`;
    throw error instanceof Failure ? error : new Failure(errorCodeOf(error), message);
  }
}

/** Restores a snapshot. Starts over if the download is interrupted, because unpacking twice is harmless. */
async function restoreSnapshot(
  sandbox: Sandbox,
  sha256: string,
  { server, signal }: Pick<OpenRunSandboxOptions, "server" | "signal">,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sandbox.restore(await server.getBlob(sha256, signal));
    } catch (error) {
      if (signal.aborted || attempt === RESTORE_ATTEMPTS) throw error;
      await pause(attempt * 200, undefined, { signal });
    }
  }
}

/** Updates a checkout inside the sandbox to a commit that is newer than the build, from the mirror. */
export async function updateRepository(
  sandbox: Sandbox,
  repository: FetchedRepository,
  {
    repositories,
    redactor,
    signal,
    timeoutMs = UPDATE_MS,
  }: { repositories: Repositories; redactor: Redactor; signal: AbortSignal; timeoutMs?: number },
): Promise<void> {
  const { commit, url } = repository;
  let output = "";
  const redacted = createTextRedactor(redactor);
  const addText = (text: string) => {
    output = (output + text).slice(-2_000);
  };
  const options = { signal, timeoutMs, withWorkerPrograms: true, asRoot: true };
  const known = await listKnownObjects(sandbox, repository, options);
  const { exitCode, timedOut } = await sandbox.exec(updateScript(repository), {
    ...options,
    stdin: repositories.streamMirrors(mirrorRequests(repository, known), { signal }),
    onOutput: ({ data }) => addText(redacted.push(data)),
  });
  addText(redacted.end());
  if (exitCode === 0) return;
  throw new Failure(
    "environment_setup_failed",
    `Cannot update ${url} to ${commit}: ${timedOut ? "timed out" : output.trim() || `exit code ${exitCode}`}`,
  );
}

/** Returns which objects the clone of a repository in the sandbox has. */
export async function listKnownObjects(
  sandbox: Sandbox,
  repository: Pick<FetchedRepository, "path" | "submodules">,
  options: Omit<ExecOptions, "onOutput">,
): Promise<(KnownObjects | undefined)[]> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  await sandbox.exec(knownObjectsScript(repository), {
    ...options,
    onOutput({ stream, data }) {
      bytes += data.length;
      if (stream === "stdout" && bytes <= maxKnownBytes) chunks.push(data);
    },
  });
  return parseKnownObjects(Buffer.concat(chunks).toString("latin1"), 1 + repository.submodules.length);
}

/** Returns the author that the environment sets, or else the run's creator. Cloud agents have no email address. */
export function gitAuthorOf({ environment, history }: Assignment): GitAuthor {
  if (environment?.git_author) return environment.git_author;
  const [created] = history;
  if (created?.type !== "run.created") throw new Error("The run's first event is missing.");
  const { display_name, email, uid } = created.data.creator;
  return { name: display_name, email: email ?? `${uid}@agents.outrider.invalid` };
}

function errorCodeOf(error: unknown): ErrorCode {
  return error instanceof NotEnforceableError || error instanceof SandboxImageError
    ? "environment_setup_failed"
    : "sandbox_lost";
}
