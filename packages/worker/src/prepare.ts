import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "@outrider/agent/failure";
import type { NewEvent } from "@outrider/contract/event";
import type { CheckedOut } from "@outrider/contract/run";
import type { Assignment, PrepareResponse, ReadyBuild } from "@outrider/contract/worker";
import {
  type BuildContext,
  keyOf,
  type ResolvedRepository,
  resolveAll,
  runBuild,
  withoutMirrors,
} from "./build.ts";

const ASK_AGAIN_MS = 500;

/** What a run's sandbox is opened on. */
export interface Prepared {
  /** The base of the build, on this worker's disk. */
  base: string;
  build: ReadyBuild;
  /** Where the run's repositories begin: what its changes are held against. */
  repositories: CheckedOut[];
  /** Those whose branch has moved since the build was made, to be brought forward in the sandbox. */
  moved: ResolvedRepository[];
}

interface PrepareOptions {
  assignment: Assignment;
  workerId: string;
  emit(event: NewEvent): Promise<void>;
  signal: AbortSignal;
}

/** Finds, fetches or makes the build that a run starts from. Nothing where its environment needs none. */
export async function prepareRun(
  context: BuildContext,
  { assignment, workerId, emit, signal }: PrepareOptions,
): Promise<Prepared | undefined> {
  const { environment, build, receipt, execution_id, run_id } = assignment;
  if (!environment || (environment.repos.length === 0 && environment.setup_commands.length === 0))
    return undefined;
  if (build) {
    const base = await context.bases.ensure(build, signal);
    return { base, build, repositories: receipt?.repositories ?? build.repositories, moved: [] };
  }
  const notice = (message: string) => void emit({ type: "notice", data: { message, code: "repository" } });
  const repositories = await resolveAll(context.repositories, environment, { signal, notice });
  const wanted = { run_id, worker_id: workerId, key: keyOf(environment, repositories) };
  const body = { ...wanted, repositories: withoutMirrors(repositories) };

  let waiting_for: string | undefined;
  for (;;) {
    const answer = await context.server.prepare(
      execution_id,
      { ...body, ...(waiting_for ? { waiting_for } : {}) },
      signal,
    );
    if (answer.state === "ready") {
      const base = await context.bases.ensure(answer.build, signal);
      const moved = movedSince(answer.build, repositories);
      return { base, build: answer.build, repositories: body.repositories, moved };
    }
    if (answer.state === "failed") throw failureOf(answer);
    if (answer.state === "yours") {
      await makeIt(context, { answer, assignment, repositories, emit, signal });
      continue;
    }
    if (waiting_for !== answer.build_id) {
      waiting_for = answer.build_id;
      const data = { name: "wait for the build", state: "started" as const, build_id: waiting_for };
      await emit({ type: "environment.step", data });
    }
    await pause(ASK_AGAIN_MS, undefined, { signal });
  }
}

function failureOf({ status_message }: Extract<PrepareResponse, { state: "failed" }>): Failure {
  return new Failure(status_message.error_code ?? "environment_setup_failed", status_message.message);
}

async function makeIt(
  context: BuildContext,
  {
    answer,
    assignment,
    repositories,
    emit,
    signal,
  }: {
    answer: Extract<PrepareResponse, { state: "yours" }>;
    assignment: Assignment;
    repositories: ResolvedRepository[];
    emit(event: NewEvent): Promise<void>;
    signal: AbortSignal;
  },
): Promise<void> {
  const { build_id } = answer;
  const outcome = await runBuild(context, {
    lease: answer,
    environment: assignment.environment as NonNullable<Assignment["environment"]>,
    repositories,
    signal,
    step: (name, state) =>
      void emit({ type: "environment.step", data: { name, state, build_id } }).catch(() => {}),
  });
  signal.throwIfAborted();
  if (outcome.type === "failed") throw new Failure(outcome.error_code, outcome.message);
}

function movedSince(build: ReadyBuild, repositories: ResolvedRepository[]): ResolvedRepository[] {
  return repositories.filter(({ url, path, commit }) =>
    build.repositories.some((built) => built.url === url && built.path === path && built.commit !== commit),
  );
}
