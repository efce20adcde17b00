import type { ErrorCode } from "@outrider/contract/errors/error";
import type {
  ListPublicationsResponse,
  Publication,
  PublicationRequest,
} from "@outrider/contract/publication";
import { allowsKind } from "@outrider/contract/publish-policy";
import type { PullRequest } from "@outrider/contract/pull-request";
import type { Sql, Tx } from "../../store/connection/db.ts";
import {
  changePublication,
  findPublication,
  listPublications as listRows,
  type PublicationRow,
  toPublication,
} from "../../store/publications.ts";
import { appendEngineEvents } from "../../store/runs/events.ts";
import { lockRunState, touchRun } from "../../store/runs/run-state.ts";
import { listStagedCommits, type StagedRow } from "../../store/staged-commits.ts";
import { ApiError, invalidField, notFound } from "../api-error.ts";
import type { Principal } from "../auth/principal.ts";
import { lockRun, requireRun } from "../runs/runs.ts";
import { createPublication, proposeBody, proposeTitle } from "./create-publication.ts";
import { accessProblem, type ForgeAccess } from "./forge-access.ts";
import { checkPolicy } from "./policy.ts";
import { retryDelay } from "./retries.ts";
import { loadPublishingRun, type PublishingRun, type RunRepository } from "./run-repositories.ts";
import { includesKind, kindToPublish } from "./triggers.ts";

/*
 * A publication pushes staged commits to the run's branch and opens a pull request:
 *
 *   AWAITING_APPROVAL ──approve──▶ QUEUED ──take──▶ PUSHING ──▶ PUSHED ──▶ DONE
 *
 * 1. Users create one from the stored commits (this file), workers when they report commits (staging.ts).
 * 2. Users approve or reject it if the policy wants that (approvals.ts).
 * 3. A worker pushes exactly the commits that it names (assignments.ts).
 * 4. A background task opens the pull request. Publications without one are DONE as soon as they are pushed.
 *
 * A publication ends as FAILED, REJECTED or SUPERSEDED. Everything that changes one holds the lock of its run, except
 * `take`, which is a single statement.
 */

export interface PublishingServices {
  gitHost: string;
  forges: ForgeAccess;
}

const unfinished = new Set(["AWAITING_APPROVAL", "QUEUED", "PUSHING", "PUSHED"]);

/** Publishes the commits of a run's latest turn at a user's request. The run can be finished. */
export async function requestPublication(
  tx: Tx,
  services: PublishingServices,
  { principal, runId }: { principal: Principal; runId: string },
  request: PublicationRequest,
): Promise<Publication> {
  await lockRun(tx, principal, runId);
  const run = await requirePublishingRun(tx, services, runId);
  const staged = chooseStaged(await listStagedCommits(tx, runId), request.path);
  const repository = requireRepository(run, staged.path);
  const { policy } = repository;
  if (policy.publish === "none") throw new ApiError("conflict", notAllowed(repository));
  const kind =
    request.kind ?? kindToPublish({ policy, configured: run.configured }, { trigger: "agent" }) ?? "branch";
  if (!allowsKind(policy.publish, kind)) {
    throw invalidField("/kind", `must be at most \`${policy.publish}\`, as the environment's policy says`);
  }
  const branch = chooseBranch(repository, request.branch);
  const problem = removalProblem(staged) ?? (await accessProblem(tx, services.forges, repository, kind));
  if (problem) throw new ApiError("conflict", problem);
  const verdict = checkPolicy(policy, staged);
  if (verdict.type === "refuse") throw new ApiError("conflict", verdict.message);
  const earlier = (await listRows(tx, runId)).filter(({ path }) => path === staged.path);
  const same = earlier.find(({ state, tip }) => unfinished.has(state) && tip === staged.tip);
  if (same && includesKind(same.kind, kind) && same.branch === branch) return toPublication(same);
  const created = await createPublication(
    tx,
    {
      run,
      repository,
      staged,
      kind,
      branch,
      title: request.title ?? proposeTitle(run, staged, earlier[0]),
      body: request.body ?? (await proposeBody(tx, run, staged)),
      options: {
        labels: request.labels ?? policy.labels,
        reviewers: request.reviewers ?? policy.reviewers,
        issues: request.issues ?? [],
      },
      requestedBy: { type: "user", user: principal.creator },
    },
    verdict,
  );
  if (typeof created === "string") throw new ApiError("conflict", created);
  await touchRun(tx, runId);
  return toPublication(created);
}

async function requirePublishingRun(
  sql: Sql,
  services: PublishingServices,
  runId: string,
): Promise<PublishingRun> {
  const run = await loadPublishingRun(sql, services, runId);
  if (!run) throw notFound("run");
  return run;
}

/** Returns the staged commits of the repository at `path`, or of the only one that has some. */
export function chooseStaged(staged: StagedRow[], path: string | undefined, pointer = "/path"): StagedRow {
  const found = path === undefined ? staged[0] : staged.find((one) => one.path === path);
  const paths = staged.map((one) => `\`${one.path}\``).join(", ");
  if (path === undefined && staged.length > 1) {
    throw invalidField(pointer, `is required, because the run has changes in several repositories: ${paths}`);
  }
  if (found) return found;
  if (staged.length > 0) throw invalidField(pointer, `must be a repository with changes: ${paths}`);
  throw new ApiError(
    "conflict",
    "The run has no changes to publish. Changes become available at the end of a turn.",
  );
}

function requireRepository({ repositories }: PublishingRun, path: string): RunRepository {
  const repository = repositories.find(({ repo }) => repo.path === path);
  if (repository) return repository;
  throw new ApiError("conflict", notInEnvironment(path));
}

const notInEnvironment = (path: string) =>
  `The environment no longer contains the repository at \`${path}\`. Add it again to publish the changes.`;

export function notAllowed({ repo }: RunRepository): string {
  return `The environment does not allow runs to publish to ${repo.url}. Set \`publish\` in the repository's policy.`;
}

function chooseBranch({ branch, policy, published }: RunRepository, requested: string | undefined): string {
  if (requested === undefined || requested === branch) return branch;
  if (!requested.startsWith(policy.branch_prefix)) {
    throw invalidField("/branch", `must start with \`${policy.branch_prefix}\``);
  }
  if (!published) return requested;
  throw new ApiError("conflict", `The run has already published to the branch \`${branch}\`. Use this one.`);
}

function removalProblem({ is_removed }: StagedRow): string | undefined {
  return is_removed ? "The commits were deleted by the retention policy of this installation." : undefined;
}

export async function readPublications(
  sql: Sql,
  services: PublishingServices,
  { principal, runId }: { principal: Principal; runId: string },
): Promise<ListPublicationsResponse> {
  await requireRun(sql, principal, runId);
  const run = await requirePublishingRun(sql, services, runId);
  const rows = await listRows(sql, runId);
  const publishable: ListPublicationsResponse["publishable"] = [];
  for (const staged of await listStagedCommits(sql, runId)) {
    const repository = run.repositories.find(({ repo }) => repo.path === staged.path);
    if (!repository) continue;
    const last = rows.find(({ path }) => path === staged.path);
    const problem = await problemOf(sql, services, repository, staged);
    publishable.push({
      path: staged.path,
      repository: repository.repo.url,
      kind: repository.policy.publish,
      branch: repository.branch,
      ...(repository.base ? { base: repository.base } : {}),
      title: proposeTitle(run, staged, last),
      body: await proposeBody(sql, run, staged),
      files_changed: staged.files.length,
      diff_bytes: staged.diff_bytes,
      is_published: repository.published?.tip === staged.tip,
      ...(problem ? { problem } : {}),
    });
  }
  return { publications: rows.map(toPublication), publishable };
}

async function problemOf(
  sql: Sql,
  { forges }: PublishingServices,
  repository: RunRepository,
  staged: StagedRow,
): Promise<string | undefined> {
  const { policy } = repository;
  if (policy.publish === "none") return notAllowed(repository);
  const removed = removalProblem(staged);
  if (removed) return removed;
  const verdict = checkPolicy(policy, staged);
  if (verdict.type === "refuse") return verdict.message;
  return accessProblem(sql, forges, repository, policy.publish);
}

/** Returns a publication of a run. The caller must have checked access to the run. */
export async function requirePublication(
  sql: Sql,
  { runId, publicationId }: { runId: string; publicationId: string },
): Promise<PublicationRow> {
  const row = await findPublication(sql, publicationId);
  if (row?.run_id !== runId) throw notFound("publication");
  return row;
}

export async function readPublication(
  sql: Sql,
  principal: Principal,
  key: { runId: string; publicationId: string },
): Promise<Publication> {
  await requireRun(sql, principal, key.runId);
  return toPublication(await requirePublication(sql, key));
}

interface Problem {
  message: string;
  errorCode?: ErrorCode;
}

/** How long a push or a pull request is retried while the forge cannot be reached. */
export const MAX_RETRY_MS = 24 * 3_600_000;

/** Locks the run of a publication and returns the publication, if it is in this state. */
async function lockPublication(
  tx: Tx,
  publicationId: string,
  state: Publication["state"],
): Promise<PublicationRow | undefined> {
  const found = await findPublication(tx, publicationId);
  if (!found || !(await lockRunState(tx, found.run_id))) return undefined;
  const row = await findPublication(tx, publicationId);
  return row?.state === state ? row : undefined;
}

/** Ends a pushed publication, because its pull request is open. Returns false if it has already ended. */
export async function completePublication(
  tx: Tx,
  publicationId: string,
  { pullRequest, warnings = [] }: { pullRequest?: PullRequest; warnings?: string[] },
): Promise<boolean> {
  const row = await lockPublication(tx, publicationId, "PUSHED");
  if (!row) return false;
  await changePublication(tx, publicationId, {
    state: "DONE",
    ...(pullRequest ? { pull_request: pullRequest } : {}),
    warnings,
    status_message: null,
  });
  return true;
}

/** Retries a pushed publication later, or fails it if it has been retried for a day. */
export async function retryPublication(
  tx: Tx,
  publicationId: string,
  { retryAfterMs = 0, ...problem }: Problem & { retryAfterMs?: number },
): Promise<void> {
  const row = await lockPublication(tx, publicationId, "PUSHED");
  if (!row) return;
  if ((row.waited_ms ?? 0) >= MAX_RETRY_MS) return failLocked(tx, row, problem);
  await changePublication(tx, publicationId, {
    state: "PUSHED",
    status_message: statusMessage(problem, true),
    dueInMs: Math.max(retryDelay(row.attempts), retryAfterMs),
  });
}

/** Fails a pushed publication. The branch stays as it is. */
export async function failPublication(tx: Tx, publicationId: string, problem: Problem): Promise<void> {
  const row = await lockPublication(tx, publicationId, "PUSHED");
  if (row) await failLocked(tx, row, problem);
}

/** Fails a publication and tells the user. The caller must hold the run's lock. */
export async function failLocked(tx: Tx, row: PublicationRow, problem: Problem): Promise<void> {
  const { publication_id, run_id, branch } = row;
  await changePublication(tx, publication_id, {
    state: "FAILED",
    status_message: statusMessage(problem, false),
  });
  const message = `Publishing \`${branch}\` failed: ${problem.message}`;
  await appendEngineEvents(tx, run_id, [{ type: "notice", data: { message, code: "publication_failed" } }]);
}

export function statusMessage({ message, errorCode }: Problem, retryable: boolean) {
  return { message, ...(errorCode ? { error_code: errorCode } : {}), retryable };
}
