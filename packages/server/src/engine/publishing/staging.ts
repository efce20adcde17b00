import type { NewEvent } from "@outrider/contract/event";
import type {
  PublishRequest,
  PublishResponse,
  RequestedPublication,
  StagedCommits,
} from "@outrider/contract/worker/publication";
import { touchBlobs } from "../../store/blobs.ts";
import type { Sql, Tx } from "../../store/connection/db.ts";
import { listPublications, listRequestedBy, type PublicationRow } from "../../store/publications.ts";
import { appendEngineEvents } from "../../store/runs/events.ts";
import { lockRunState, type RunStateRow } from "../../store/runs/run-state.ts";
import {
  listStagedCommits,
  markStaged,
  type StagedRow,
  storeStagedCommits,
} from "../../store/staged-commits.ts";
import { ApiError, invalidField, notFound } from "../api-error.ts";
import {
  createPublication,
  createRefusedPublication,
  isRefused,
  proposeBody,
  proposeTitle,
} from "./create-publication.ts";
import { accessProblem } from "./forge-access.ts";
import { checkPolicy } from "./policy.ts";
import { notAllowed, type PublishingServices } from "./publications.ts";
import { loadPublishingRun, type PublishingRun, type RunRepository } from "./run-repositories.ts";
import { includesKind, kindToPublish, type PublishedKind } from "./triggers.ts";

/*
 * A worker reports the commits that it took out of a sandbox, and the server decides what becomes of them: they are only
 * stored, published, published once a user has approved, or refused. A refusal is a publication that FAILED, with a
 * notice in the run's log, so that both the agent and the user know what to do.
 */

type Decision =
  | { type: "none" }
  | { type: "existing"; publication: PublicationRow }
  | { type: "created"; publication: PublicationRow }
  | { type: "refused"; path: string; message: string; isStored?: true };

/** Stores commits and publishes them, as far as the policies want it. Repeating a request has no further effect. */
export async function publishStaged(
  tx: Tx,
  services: PublishingServices,
  executionId: string,
  received: PublishRequest,
): Promise<{ response: PublishResponse; isQueued: boolean }> {
  const request = withoutEmptyTexts(received);
  const { run_id: runId, request_id: requestId, trigger } = request;
  const runState = await requireLease(tx, executionId, runId);
  const isTurnEnd = trigger === "turn_end";
  if (isTurnEnd) await markStaged(tx, executionId);
  const repeated = await listRequestedBy(tx, { runId, requestId });
  const decisions =
    repeated.length > 0 ? repeated.map(toDecision) : await decideAll(tx, services, runState, request);
  const publications = decisions.flatMap((one) => ("publication" in one ? [one.publication] : []));
  const awaiting = isTurnEnd ? await listAwaiting(tx, runId) : [];
  const known = new Set(publications.map(({ publication_id }) => publication_id));
  const all = [...publications, ...awaiting.filter(({ publication_id }) => !known.has(publication_id))];
  return {
    response: {
      publications: all.map(toRequested),
      refusals: decisions.flatMap((one) =>
        one.type === "refused" ? [{ path: one.path, message: one.message }] : [],
      ),
    },
    isQueued: publications.some(({ state }) => state === "QUEUED"),
  };
}

/** Makes the title one line, and omits empty texts. They come from models. */
function withoutEmptyTexts({ title = "", body = "", ...request }: PublishRequest): PublishRequest {
  const line = title.replace(/\s+/g, " ").trim();
  const text = body.trim();
  return { ...request, ...(line ? { title: line } : {}), ...(text ? { body: text } : {}) };
}

async function requireLease(tx: Tx, executionId: string, runId: string): Promise<RunStateRow> {
  const runState = await lockRunState(tx, runId);
  if (!runState) throw notFound("run");
  if (runState.execution_id === executionId && runState.state === "INPROGRESS") return runState;
  throw new ApiError("conflict", "The lease is lost: the run no longer belongs to this execution.");
}

/** Protects the bundles from garbage collection until they are referenced. */
async function requireBundles(tx: Tx, commits: StagedCommits[]): Promise<void> {
  const hashes = [...new Set(commits.flatMap(({ bundle }) => (bundle ? [bundle.sha256] : [])))];
  const found = hashes.length > 0 ? await touchBlobs(tx, hashes) : [];
  const missing = commits.findIndex(({ bundle }) => bundle && !found.includes(bundle.sha256));
  if (missing >= 0) throw invalidField(`/commits/${missing}/bundle`, "must be uploaded first");
}

async function listAwaiting(sql: Sql, runId: string): Promise<PublicationRow[]> {
  return (await listPublications(sql, runId)).filter(({ state }) => state === "AWAITING_APPROVAL");
}

/**
 * Stores the commits and decides on them. The end of a turn also decides on commits that were stored before, for example
 * by a `git push` of the agent.
 */
async function decideAll(
  tx: Tx,
  services: PublishingServices,
  { turn }: RunStateRow,
  request: PublishRequest,
): Promise<Decision[]> {
  const { run_id: runId, trigger, commits } = request;
  const run = await loadPublishingRun(tx, services, runId);
  if (!run) throw notFound("run");
  await requireBundles(tx, commits);
  const proposal = trigger === "agent" ? { title: request.title, body: request.body } : {};
  for (const one of commits) await storeStagedCommits(tx, { runId, turn, commits: one, ...proposal });
  const decisions: Decision[] = [];
  for (const staged of await listStagedCommits(tx, runId)) {
    if (trigger !== "turn_end" && !commits.some(({ path }) => path === staged.path)) continue;
    decisions.push(await decide(tx, services, { run, request }, staged));
  }
  await appendEngineEvents(tx, runId, decisions.flatMap(noticeOf));
  return decisions;
}

async function decide(
  tx: Tx,
  services: PublishingServices,
  { run, request }: { run: PublishingRun; request: PublishRequest },
  staged: StagedRow,
): Promise<Decision> {
  const { path } = staged;
  const repository = run.repositories.find(({ repo }) => repo.path === path);
  if (!repository || repository.policy.publish === "none") {
    if (request.trigger === "turn_end") return { type: "none" };
    const message = repository ? notAllowed(repository) : `The environment has no repository at \`${path}\`.`;
    return { type: "refused", path, message };
  }
  const earlier = (await listPublications(tx, run.runId)).filter((one) => one.path === path);
  const situation = { policy: repository.policy, configured: run.configured, lastKind: lastKind(earlier) };
  const kind = kindToPublish(situation, request);
  if (!kind) return { type: "none" };
  const same = earlier.find(({ tip, state }) => tip === staged.tip && state !== "SUPERSEDED");
  const repeated = same && repeatOf(same, { kind, request });
  if (repeated) return repeated;
  return create(tx, services, { run, repository, staged, kind, request, last: earlier[0] });
}

/** Returns what the run published last, or wanted to. A rejection without a comment ends that. */
function lastKind(earlier: PublicationRow[]): PublishedKind | undefined {
  const [last] = earlier.filter((one) => !isRefused(one));
  if (last?.state !== "REJECTED" || last.comment !== null) return last?.kind;
  return earlier.find(({ pushed_commit }) => pushed_commit !== null)?.kind;
}

/** Decides about commits that are published already, or were refused or rejected. Undefined: they are published again. */
function repeatOf(
  same: PublicationRow,
  { kind, request }: { kind: PublishedKind; request: PublishRequest },
): Decision | undefined {
  const { trigger, title, body } = request;
  const isAsked = trigger !== "turn_end";
  if (same.state === "REJECTED") {
    const comment = same.comment ? `: ${same.comment}` : ".";
    const message = `A user rejected the publication of these commits${comment}`;
    return isAsked ? { type: "refused", path: same.path, message } : { type: "none" };
  }
  if (same.state === "FAILED") return isAsked || !isRefused(same) ? undefined : { type: "none" };
  if (!includesKind(same.kind, kind)) return undefined;
  const isChanged = (title ?? same.title) !== same.title || (body ?? same.body) !== same.body;
  if (trigger === "agent" && isChanged) return undefined;
  return isAsked ? { type: "existing", publication: same } : { type: "none" };
}

interface Creation {
  run: PublishingRun;
  repository: RunRepository;
  staged: StagedRow;
  kind: PublishedKind;
  request: PublishRequest;
  last: PublicationRow | undefined;
}

async function create(
  tx: Tx,
  { forges }: PublishingServices,
  { run, repository, staged, kind, request, last }: Creation,
): Promise<Decision> {
  const { policy, branch } = repository;
  const input = {
    run,
    repository,
    staged,
    kind,
    branch,
    title: proposeTitle(run, staged, last),
    body: await proposeBody(tx, run, staged, request.body),
    options: { labels: policy.labels, reviewers: policy.reviewers, issues: last?.options.issues ?? [] },
    requestedBy: { type: request.trigger === "turn_end" ? ("policy" as const) : ("agent" as const) },
    requestId: request.request_id,
  };
  const verdict = checkPolicy(policy, staged);
  const problem =
    verdict.type === "refuse" ? verdict.message : await accessProblem(tx, forges, repository, kind);
  const created =
    problem ?? (await createPublication(tx, input, verdict as Exclude<typeof verdict, { type: "refuse" }>));
  if (typeof created !== "string") return { type: "created", publication: created };
  return toDecision(await createRefusedPublication(tx, input, created));
}

function toDecision(publication: PublicationRow): Decision {
  if (!isRefused(publication)) return { type: "existing", publication };
  const { path, status_message } = publication;
  const message = status_message?.message ?? "The publication was refused.";
  return { type: "refused", path, message, isStored: true };
}

/** Only the agent learns about a refusal that is not stored: a repeated request would write its notice again. */
function noticeOf(decision: Decision): NewEvent[] {
  if (decision.type !== "refused" || !decision.isStored) return [];
  const message = `The changes in \`${decision.path}\` were not published. ${decision.message}`;
  return [{ type: "notice", data: { message, code: "publication_refused" } }];
}

/** Returns the publications of a run that a worker asks about. */
export async function listRequested(
  sql: Sql,
  runId: string,
  publicationIds: string[],
): Promise<RequestedPublication[]> {
  const rows = await listPublications(sql, runId);
  return rows.filter(({ publication_id }) => publicationIds.includes(publication_id)).map(toRequested);
}

function toRequested(row: PublicationRow): RequestedPublication {
  const { publication_id, path, kind, state, branch, pull_request } = row;
  const message = messageOf(row);
  return {
    publication_id,
    path,
    kind,
    state,
    branch,
    ...(message ? { message } : {}),
    ...(pull_request ? { pull_request } : {}),
  };
}

function messageOf({ state, approval_reason, comment, status_message }: PublicationRow): string | undefined {
  if (state === "AWAITING_APPROVAL") return `A user must approve it. ${approval_reason ?? ""}`.trim();
  if (state === "REJECTED") return comment ? `A user rejected it: ${comment}` : "A user rejected it.";
  return status_message?.message;
}
