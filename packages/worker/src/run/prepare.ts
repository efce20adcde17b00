import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "@outrider/agent/failure";
import type { NewEvent } from "@outrider/contract/event";
import type { CheckedOutRepository } from "@outrider/contract/run";
import type { Assignment, PrepareResponse, ReadyBuild } from "@outrider/contract/worker";
import {
  type BuildContext,
  buildKey,
  resolveRepositories,
  runBuild,
  withoutMirrors,
} from "../builds/build.ts";
import {
  type FetchedRepository,
  fetchRepositoryContents,
  type ResolvedRepository,
} from "../builds/repository-contents.ts";

const POLL_MS = 500;

/** The starting point of a run's sandbox. */
export interface PreparedRun {
  /** The name of the build's base on this worker's disk. */
  base: string;
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
  const { environment, build, receipt, execution_id, run_id } = assignment;
  if (!environment || (environment.repos.length === 0 && environment.setup_commands.length === 0))
    return undefined;
  if (build) {
    const base = await context.bases.ensure(build, signal);
    return { base, build, repositories: receipt?.repositories ?? build.repositories, moved: [] };
  }
  // If a batch was rejected, the next awaited report ends the turn with that error.
  const emitNotice = (message: string) =>
    void emit({ type: "notice", data: { message, code: "repository" } }).catch(() => {});
  const repositories = await resolveRepositories(context.repositories, environment, { signal, emitNotice });
  const body = {
    run_id,
    worker_id: workerId,
    key: buildKey(environment, repositories),
    repositories: withoutMirrors(repositories),
  };

  let waiting_for: string | undefined;
  for (;;) {
    const response = await context.server.prepare(
      execution_id,
      { ...body, ...(waiting_for ? { waiting_for } : {}) },
      signal,
    );
    if (response.state === "ready") {
      const base = await context.bases.ensure(response.build, signal);
      const moved = await fetchRepositoryContents(context.repositories, environment, {
        ...{ resolved: findMoved(response.build, repositories), signal, emitNotice },
      });
      return { base, build: response.build, repositories: body.repositories, moved };
    }
    if (response.state === "failed") throw buildFailure(response);
    if (response.state === "yours") {
      await makeBuild(context, { response, assignment, repositories, emit, signal });
      continue;
    }
    if (waiting_for !== response.build_id) {
      waiting_for = response.build_id;
      const data = { name: "wait for the build", state: "started" as const, build_id: waiting_for };
      await emit({ type: "environment.step", data });
    }
    await pause(POLL_MS, undefined, { signal });
  }
}

function buildFailure({ status_message }: Extract<PrepareResponse, { state: "failed" }>): Failure {
  return new Failure(status_message.error_code ?? "environment_setup_failed", status_message.message);
}

async function makeBuild(
  context: BuildContext,
  {
    response,
    assignment,
    repositories,
    emit,
    signal,
  }: {
    response: Extract<PrepareResponse, { state: "yours" }>;
    assignment: Assignment;
    repositories: ResolvedRepository[];
    emit(event: NewEvent): Promise<unknown>;
    signal: AbortSignal;
  },
): Promise<void> {
  const { build_id } = response;
  const outcome = await runBuild(context, {
    lease: response,
    environment: assignment.environment as NonNullable<Assignment["environment"]>,
    repositories,
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
