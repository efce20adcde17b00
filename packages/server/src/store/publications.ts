import type { Publication, PublicationState } from "@outrider/contract/publication";
import type { PullRequest } from "@outrider/contract/pull-request";
import type { RunCreatorInfo, RunStatusMessage } from "@outrider/contract/run";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";
import { omitNulls } from "./runs/runs.ts";

/** How many publications of a run are listed. */
const MAX_LISTED = 100;
/** The maximum number of queued publications in the signals of a worker. */
const MAX_SIGNALED = 10;

/** What the pull request gets in addition to title and text. */
export interface PullRequestOptions {
  labels?: string[];
  reviewers?: string[];
  issues?: string[];
}

export interface NewPublication {
  publication_id: string;
  run_id: string;
  turn: number;
  path: string;
  repository: string;
  kind: Publication["kind"];
  state: PublicationState;
  branch: string;
  base?: string | undefined;
  base_commit: string;
  tip: string;
  bundle?: { sha256: string; size_bytes: number } | undefined;
  title: string;
  body: string;
  options: PullRequestOptions;
  files_changed: number;
  diff_bytes: number;
  requested_by: Publication["requested_by"];
  request_id?: string | undefined;
  approval_reason?: string | undefined;
  status_message?: RunStatusMessage | undefined;
}

/** A stored publication. */
export interface PublicationRow {
  publication_id: string;
  run_id: string;
  turn: number;
  path: string;
  repository: string;
  kind: Publication["kind"];
  state: PublicationState;
  branch: string;
  base: string | null;
  base_commit: string;
  tip: string;
  bundle_sha256: string | null;
  bundle_bytes: number | null;
  title: string;
  body: string;
  options: PullRequestOptions;
  files_changed: number;
  diff_bytes: number;
  requested_by: Publication["requested_by"];
  approval_reason: string | null;
  decided_by: RunCreatorInfo | null;
  decided_at: string | null;
  comment: string | null;
  worker_id: string | null;
  token: string | null;
  attempts: number;
  lost_attempts: number;
  queued_at: string | null;
  /** Milliseconds since it was queued, or since it was pushed. */
  waited_ms: number | null;
  pushed_commit: string | null;
  pull_request: PullRequest | null;
  warnings: string[] | null;
  status_message: RunStatusMessage | null;
  created_at: string;
  finished_at: string | null;
}

function columns(sql: Sql) {
  return sql`publication_id, run_id, turn, path, repository, kind, state, branch, base, base_commit, tip, bundle_sha256,
    bundle_bytes::float8 as bundle_bytes, title, body, options, files_changed, diff_bytes::float8 as diff_bytes,
    requested_by, approval_reason, decided_by, decided_at, comment, worker_id, token, attempts, lost_attempts, queued_at,
    (extract(epoch from outrider_now() - queued_at) * 1000)::float8 as waited_ms, pushed_commit, pull_request, warnings,
    status_message, created_at, finished_at`;
}

/** Returns a publication in the form that the API shows. */
export function toPublication(row: PublicationRow): Publication {
  const { publication_id, run_id, turn, path, repository, kind, state, branch, base, title } = row;
  const { files_changed, diff_bytes, requested_by, approval_reason, decided_by, decided_at, comment } = row;
  const { pull_request, warnings, status_message, created_at, finished_at } = row;
  const commit = row.pushed_commit ?? row.tip;
  return omitNulls({
    ...{ publication_id, run_id, turn, path, repository, kind, state, branch, base, commit, title },
    ...{ files_changed, diff_bytes, requested_by, approval_reason, decided_by, decided_at, comment },
    ...{ pull_request, warnings, status_message, created_at, finished_at },
  }) as Publication;
}

export async function insertPublication(tx: Tx, publication: NewPublication): Promise<PublicationRow> {
  const { bundle, options, requested_by, status_message, ...p } = publication;
  const isQueued = p.state === "QUEUED";
  const isFinished = p.state === "FAILED";
  const [row] = await tx<PublicationRow[]>`
    insert into publications (publication_id, run_id, turn, path, repository, kind, state, branch, base, base_commit, tip,
      bundle_sha256, bundle_bytes, title, body, options, files_changed, diff_bytes, requested_by, request_id,
      approval_reason, status_message, queued_at, next_attempt_at, finished_at)
    values (${p.publication_id}, ${p.run_id}, ${p.turn}, ${p.path}, ${p.repository}, ${p.kind}, ${p.state}, ${p.branch},
      ${p.base ?? null}, ${p.base_commit}, ${p.tip}, ${bundle?.sha256 ?? null}, ${bundle?.size_bytes ?? null}, ${p.title},
      ${p.body}, ${json(tx, options)}, ${p.files_changed}, ${p.diff_bytes}, ${json(tx, requested_by)},
      ${p.request_id ?? null}, ${p.approval_reason ?? null}, ${json(tx, status_message)},
      ${isQueued ? tx`outrider_now()` : null}, ${isQueued ? tx`outrider_now()` : null},
      ${isFinished ? tx`outrider_now()` : null})
    returning ${columns(tx)}`;
  return row as PublicationRow;
}

export async function findPublication(sql: Sql, publicationId: string): Promise<PublicationRow | undefined> {
  const [row] = await sql<PublicationRow[]>`
    select ${columns(sql)} from publications where publication_id = ${publicationId}`;
  return row;
}

/** Returns the publications of a run, newest first. */
export async function listPublications(sql: Sql, runId: string): Promise<PublicationRow[]> {
  return sql<PublicationRow[]>`
    select ${columns(sql)} from publications where run_id = ${runId} order by position desc limit ${MAX_LISTED}`;
}

/** Returns the publications that a worker's request created. */
export async function listRequestedBy(
  sql: Sql,
  { runId, requestId }: { runId: string; requestId: string },
): Promise<PublicationRow[]> {
  return sql<PublicationRow[]>`
    select ${columns(sql)} from publications where run_id = ${runId} and request_id = ${requestId} order by position`;
}

/** What changes in a publication. An absent field stays as it is. */
export interface PublicationChange {
  state: PublicationState;
  base?: string | null;
  decided_by?: RunCreatorInfo;
  comment?: string;
  attempts?: number;
  lost_attempts?: number;
  pushed_commit?: string;
  pull_request?: PullRequest;
  warnings?: string[];
  status_message?: RunStatusMessage | null;
  /** Makes it due after this time. */
  dueInMs?: number;
  /** Starts the time in which it is retried anew. */
  restartsRetries?: true;
}

/** Changes a publication and ends its lease. The caller must hold the run's lock. */
export async function changePublication(
  tx: Tx,
  publicationId: string,
  change: PublicationChange,
): Promise<PublicationRow> {
  const { state, decided_by, comment = null, warnings, pull_request, status_message, dueInMs } = change;
  const isFinal = ["DONE", "FAILED", "REJECTED", "SUPERSEDED"].includes(state);
  const [row] = await tx<PublicationRow[]>`
    update publications set state = ${state}, lease_expires_at = null,
      base = coalesce(${change.base ?? null}, base),
      decided_by = coalesce(${json(tx, decided_by)}, decided_by),
      decided_at = ${decided_by ? tx`outrider_now()` : tx`decided_at`},
      comment = coalesce(${comment}, comment),
      attempts = coalesce(${change.attempts ?? null}, attempts),
      lost_attempts = coalesce(${change.lost_attempts ?? null}, lost_attempts),
      pushed_commit = coalesce(${change.pushed_commit ?? null}, pushed_commit),
      pull_request = coalesce(${json(tx, pull_request)}, pull_request),
      warnings = coalesce(${warnings?.length ? json(tx, warnings) : null}, warnings),
      status_message = ${status_message === undefined ? tx`status_message` : json(tx, status_message)},
      queued_at = ${change.restartsRetries ? tx`outrider_now()` : tx`queued_at`},
      next_attempt_at = ${isFinal || dueInMs === undefined ? null : tx`outrider_now() + ${dueInMs} * interval '1 ms'`},
      finished_at = ${isFinal ? tx`outrider_now()` : null}
    where publication_id = ${publicationId} returning ${columns(tx)}`;
  return row as PublicationRow;
}

/**
 * Ends the publications of a run that await approval, or only those of one repository, because newer changes replace
 * them. With `queued`, also ends queued ones that no worker has tried: one that was tried may have been pushed.
 */
export async function supersedePublications(
  tx: Tx,
  { runId, path, queued = false }: { runId: string; path?: string; queued?: boolean },
  status_message?: RunStatusMessage,
): Promise<number> {
  const { count } = await tx`
    update publications set state = 'SUPERSEDED', finished_at = outrider_now(), next_attempt_at = null,
      status_message = ${json(tx, status_message)}
    where run_id = ${runId} ${path === undefined ? tx`` : tx`and path = ${path}`}
      and (state = 'AWAITING_APPROVAL' or (${queued} and state = 'QUEUED' and attempts = 0 and lost_attempts = 0))`;
  return count;
}

export async function countAwaiting(tx: Tx, runId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from publications where run_id = ${runId} and state = 'AWAITING_APPROVAL'`;
  return row?.count ?? 0;
}

/** True for a publication whose branch an earlier one may still change. */
function isBehind(sql: Sql, states: PublicationState[]) {
  return sql`exists (
    select 1 from publications earlier where earlier.run_id = p.run_id and earlier.path = p.path
      and earlier.position < p.position and earlier.state = any(${states}))`;
}

/** Returns a query for the queued publications that a worker can take now. */
export function duePublications(sql: Sql) {
  return sql`
    select publication_id from publications p
    where state = 'QUEUED' and next_attempt_at <= outrider_now() and not ${isBehind(sql, ["QUEUED", "PUSHING"])}
    order by next_attempt_at limit ${MAX_SIGNALED}`;
}

interface Take {
  publicationId: string;
  workerId: string;
  token: string;
  leaseMs: number;
}

/**
 * Assigns a queued publication to a worker. Repeating the call for the same worker renews the lease and keeps the
 * token. Returns undefined if another worker has it, or if it is not due.
 */
export async function takePublication(
  sql: Sql,
  { publicationId, workerId, token, leaseMs }: Take,
): Promise<PublicationRow | undefined> {
  const [row] = await sql<PublicationRow[]>`
    update publications p set state = 'PUSHING', worker_id = ${workerId},
      token = case when state = 'PUSHING' then token else ${token}::uuid end,
      attempts = case when state = 'PUSHING' then attempts else attempts + 1 end,
      lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms'
    where publication_id = ${publicationId} and (
      (state = 'QUEUED' and next_attempt_at <= outrider_now() and not ${isBehind(sql, ["QUEUED", "PUSHING"])})
      or (state = 'PUSHING' and worker_id = ${workerId} and lease_expires_at > outrider_now()))
    returning ${columns(sql)}`;
  return row;
}

export interface OverduePublication {
  publication_id: string;
  run_id: string;
}

/** Returns publications whose lease has expired, and those that have waited for longer than `maxQueuedMs`. */
export async function listOverduePublications(
  sql: Sql,
  { maxQueuedMs }: { maxQueuedMs: number },
): Promise<OverduePublication[]> {
  return sql<OverduePublication[]>`${overduePublications(sql, { maxQueuedMs })} limit 100`;
}

/** The same as a query, for use in a larger statement. */
export function overduePublications(sql: Sql, { maxQueuedMs }: { maxQueuedMs: number }) {
  return sql`
    select publication_id, run_id from publications
    where (state = 'PUSHING' and lease_expires_at <= outrider_now())
      or (state = 'QUEUED' and queued_at <= outrider_now() - ${maxQueuedMs} * interval '1 ms')`;
}

/** Returns whether a publication's lease has expired. */
export async function isLeaseExpired(sql: Sql, publicationId: string): Promise<boolean> {
  const [row] = await sql<{ is_expired: boolean }[]>`
    select state = 'PUSHING' and lease_expires_at <= outrider_now() as is_expired from publications
    where publication_id = ${publicationId}`;
  return row?.is_expired ?? false;
}

/** Leases the pushed publication that has been due for longest and needs a pull request. Concurrent calls get others. */
export async function takePushedPublication(
  sql: Sql,
  { leaseMs }: { leaseMs: number },
): Promise<PublicationRow | undefined> {
  const [row] = await sql<PublicationRow[]>`
    update publications set next_attempt_at = outrider_now() + ${leaseMs} * interval '1 ms', attempts = attempts + 1
    where publication_id = (
      ${pushedPublications(sql)} order by next_attempt_at limit 1 for update skip locked
    ) returning ${columns(sql)}`;
  return row;
}

/** Returns a query for the pushed publications that need a pull request now. */
export function pushedPublications(sql: Sql) {
  return sql`
    select publication_id from publications p
    where state = 'PUSHED' and next_attempt_at <= outrider_now() and not ${isBehind(sql, ["PUSHED"])}`;
}

/** Stores the current state of a pull request in the publications that opened or updated it. */
export async function updatePublishedPullRequest(
  sql: Sql,
  { runId, path, pullRequest }: { runId: string; path: string; pullRequest: PullRequest },
): Promise<void> {
  await sql`
    update publications set pull_request = ${json(sql, pullRequest)}
    where run_id = ${runId} and path = ${path} and (pull_request ->> 'number')::int = ${pullRequest.number}`;
}

/** Queues the publications again whose workers belong to another installation. Used after a restore. */
export async function requeuePublications(tx: Tx): Promise<void> {
  await tx`
    update publications set state = 'QUEUED', worker_id = null, lease_expires_at = null, next_attempt_at = outrider_now()
    where state = 'PUSHING'`;
  await tx`update publications set queued_at = outrider_now() where state in ('QUEUED', 'PUSHED')`;
}
