import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "@outrider/agent/failure";
import type { NewEvent } from "@outrider/contract/event";
import type { CheckedOutRepository } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import type { PrepareResponse, ReadyBuild } from "@outrider/contract/worker/build";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import {
  type BuildContext,
  buildKey,
  type ResolvedContents,
  resolveContents,
  runBuild,
  withoutMirrors,
} from "../builds/build.ts";
import { ensureImage } from "../builds/images.ts";
import {
  type FetchedRepository,
  fetchRepositoryContents,
  type ResolvedRepository,
} from "../builds/repository-contents.ts";
import type { SandboxImage } from "../sandboxes/sandbox.ts";

const POLL_MS = 500;

/** The starting point of a run's sandbox. */
export interface PreparedRun {
  /** The name of the build's base on this worker's disk. */
  base: string;
  /** The build's image on this worker. */
  image?: SandboxImage | undefined;
  build: ReadyBuild;
  /** The starting commits of the run's repositories. Its diff is relative to them. */
  repositories: CheckedOutRepository[];
  /** Repositories whose branch has moved since the build. They are updated in the sandbox. */
  moved: FetchedRepository[];
}

interface PrepareOptions {
  assignment: Assignment;
  workerId: string;
  emit(event: NewEvent): Promise<unknown>;
  signal: AbortSignal;
}

/**
 * Finds, fetches or makes the build that a run starts from. Returns undefined if its environment needs no build.
 *
 * A continued run keeps its build. Otherwise the server looks up the build's key and answers that the build is ready,
 * that it has failed, that another worker is making it (then poll), or that this worker must make it (then ask again).
 */
export async function prepareRun(
  context: BuildContext,
  { assignment, workerId, emit, signal }: PrepareOptions,
): Promise<PreparedRun | undefined> {
  const { environment, receipt, execution_id, run_id } = assignment;
  const build = assignment.build ?? assignment.image_build;
  if (!environment || !needsBuild(environment)) return undefined;
  if (build) {
    const files = await ensureFiles(context, { build, environment, signal });
    return { ...files, build, repositories: receipt?.repositories ?? build.repositories, moved: [] };
  }
  // If a batch was rejected, the next awaited report ends the turn with that error.
  const emitNotice = (message: string) =>
    void emit({ type: "notice", data: { message, code: "repository" } }).catch(() => {});
  const contents = await resolveContents(context, environment, { signal, emitNotice });
  const { repositories, image } = contents;
  const body = {
    run_id,
    worker_id: workerId,
    key: buildKey(environment, contents, context.provider.kind),
    ...(image ? { image } : {}),
    repositories: withoutMirrors(repositories),
  };

  let waiting_for: string | undefined;
  const emitWait = async (state: "started" | "finished" | "failed") => {
    if (!waiting_for) return;
    const data = { name: "wait for the build", state, build_id: waiting_for };
    await emit({ type: "environment.step", data });
  };
  for (;;) {
    const response = await context.server.prepare(
      execution_id,
      { ...body, ...(waiting_for ? { waiting_for } : {}) },
      signal,
    );
    if (response.state !== "building") await emitWait(response.state === "failed" ? "failed" : "finished");
    if (response.state === "ready") {
      const files = await ensureFiles(context, { build: response.build, environment, signal });
      const moved = await fetchRepositoryContents(context.repositories, environment, {
        ...{ resolved: findMoved(response.build, repositories), signal, emitNotice },
      });
      return { ...files, build: response.build, repositories: body.repositories, moved };
    }
    if (response.state === "failed") throw buildFailure(response);
    if (response.state === "yours") {
      waiting_for = undefined;
      await makeBuild(context, { response, assignment, contents, emit, signal });
      continue;
    }
    if (waiting_for !== response.build_id) {
      await emitWait("finished");
      waiting_for = response.build_id;
      await emitWait("started");
    }
    await pause(POLL_MS, undefined, { signal });
  }
}

function needsBuild({ docker_image, repos, setup_commands }: AssignedEnvironment): boolean {
  return docker_image !== undefined || repos.length > 0 || setup_commands.length > 0;
}

/** Makes the files of a build available on this worker. */
export async function ensureFiles(
  { bases, provider }: Pick<BuildContext, "bases" | "provider">,
  {
    build,
    environment,
    signal,
  }: { build: ReadyBuild; environment: AssignedEnvironment; signal: AbortSignal },
): Promise<Pick<PreparedRun, "base" | "image">> {
  const { devcontainer } = build;
  const image =
    build.image && (await ensureImage(provider, build.image, { environment, devcontainer, signal }));
  return { image, base: await bases.ensure(build, image, signal) };
}

function buildFailure({ status_message }: Extract<PrepareResponse, { state: "failed" }>): Failure {
  return new Failure(status_message.error_code ?? "environment_setup_failed", status_message.message);
}

async function makeBuild(
  context: BuildContext,
  {
    response,
    assignment,
    contents,
    emit,
    signal,
  }: {
    response: Extract<PrepareResponse, { state: "yours" }>;
    assignment: Assignment;
    contents: ResolvedContents;
    emit(event: NewEvent): Promise<unknown>;
    signal: AbortSignal;
  },
): Promise<void> {
  const { build_id } = response;
  const outcome = await runBuild(context, {
    lease: response,
    environment: assignment.environment as NonNullable<Assignment["environment"]>,
    contents,
    signal,
    onStep: (name, state) =>
      void emit({ type: "environment.step", data: { name, state, build_id } }).catch(() => {}),
  });
  signal.throwIfAborted();
  if (outcome.type === "failed") throw new Failure(outcome.error_code, outcome.message);
}

function findMoved(build: ReadyBuild, repositories: ResolvedRepository[]): ResolvedRepository[] {
  return repositories.filter(({ url, path, commit }) =>
    build.repositories.some((built) => built.url === url && built.path === path && built.commit !== commit),
  );
}
