import type { PullRequest, PullRequestState } from "@outrider/contract/pull-request";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";

export interface StoredPullRequest extends PullRequest {
  title: string;
}

export interface PullRequestRow extends StoredPullRequest {
  /** Also the ID of the artifact. */
  pull_request_id: string;
  run_id: string;
  /** Path of the repository in the workspace. */
  path: string;
  forge_id: string;
  head_commit: string;
  /** The commit that Outrider pushed last. */
  pushed_commit: string;
  has_conflict: boolean;
  etags: PullRequestEtags;
  /** The time of each comment that has been considered for a follow-up, by its ID. */
  seen_comments: Record<string, string>;
  /** The failed checks of a commit that have been considered for a follow-up, and a commit that may have a conflict. */
  seen_checks: { commit?: string; ids?: string[]; unmergeable?: string };
  /** How many follow-ups were sent without a user. */
  followup_count: number;
  poll_failures: number;
  /** When the pull request last changed at the forge. */
  changed_at: string;
  created_at: string;
}

export interface PullRequestEtags {
  pull_request?: string;
  comments?: string;
  checks?: string;
}

const columns = [
  "pull_request_id",
  "run_id",
  "path",
  "forge_id",
  "repository",
  "number",
  "url",
  "branch",
  "base",
  "state",
  "title",
  "head_commit",
  "pushed_commit",
  "has_conflict",
  "etags",
  "seen_comments",
  "seen_checks",
  "followup_count",
  "poll_failures",
  "changed_at",
  "created_at",
];

export function toPullRequest(row: StoredPullRequest): StoredPullRequest {
  const { url, number, repository, branch, base, state, title } = row;
  return { url, number, repository, branch, base, state, title };
}

/** Selects a run's pull requests as JSON, newest first. Needs a table `r` with the run. */
export function pullRequestsColumn(sql: Sql) {
  return sql`case when r.pull_request_state is not null then (
    select jsonb_agg(${asJson(sql)} order by q.created_at desc, q.number desc)
    from pull_requests q where q.run_id = r.run_id) end`;
}

/** Builds the JSON of a pull request. Needs its row as `q`. */
export function asJson(sql: Sql) {
  return sql`jsonb_build_object('url', q.url, 'number', q.number, 'repository', q.repository, 'branch', q.branch,
    'base', q.base, 'state', q.state, 'title', q.title)`;
}

export type NewPullRequest = Pick<
  PullRequestRow,
  | "pull_request_id"
  | "run_id"
  | "path"
  | "forge_id"
  | "repository"
  | "number"
  | "url"
  | "branch"
  | "base"
  | "state"
  | "title"
  | "head_commit"
  | "pushed_commit"
>;

/** Stores a pull request after a push, or updates it. It is polled again soon. The caller must hold the run's lock. */
export async function putPullRequest(tx: Tx, row: NewPullRequest): Promise<void> {
  await tx`
    insert into pull_requests ${tx(row)}
    on conflict (run_id, path, branch, number) do update set
      url = excluded.url, base = excluded.base, state = excluded.state, title = excluded.title,
      head_commit = excluded.head_commit, pushed_commit = excluded.pushed_commit, next_poll_at = outrider_now(),
      poll_token = null, poll_failures = 0, changed_at = outrider_now(), updated_at = outrider_now()`;
  await storeRunState(tx, row.run_id);
}

/** Stores on the run what lists show and filter by. */
async function storeRunState(tx: Tx, runId: string): Promise<void> {
  await tx`
    update runs set updated_at = outrider_now(), pull_request_state = (
      select state from pull_requests where run_id = ${runId}
      order by array_position(array['open', 'draft', 'merged', 'closed'], state) limit 1)
    where run_id = ${runId}`;
}

/** Returns the newest pull request of a run's branch. */
export async function findPullRequestOfBranch(
  sql: Sql,
  { runId, path, branch }: { runId: string; path: string; branch: string },
): Promise<PullRequestRow | undefined> {
  const [row] = await sql<PullRequestRow[]>`
    select ${sql(columns)} from pull_requests
    where run_id = ${runId} and path = ${path} and branch = ${branch} order by number desc limit 1`;
  return row;
}

export async function findPullRequest(sql: Sql, pullRequestId: string): Promise<PullRequestRow | undefined> {
  const [row] = await sql<PullRequestRow[]>`
    select ${sql(columns)} from pull_requests where pull_request_id = ${pullRequestId}`;
  return row;
}

/** Returns how many follow-ups a run's pull requests have caused. */
export async function countAutomaticFollowups(sql: Sql, runId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select coalesce(sum(followup_count), 0)::int as count from pull_requests where run_id = ${runId}`;
  return row?.count ?? 0;
}

export interface DuePullRequest extends PullRequestRow {
  poll_token: string;
  /** How long ago the pull request changed. */
  unchanged_ms: number;
}

/**
 * Takes the pull requests that are due, oldest first, so that no other server polls them before `leaseMs` have passed.
 * Skips forges that have asked to wait.
 */
export async function takeDuePullRequests(
  sql: Sql,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<DuePullRequest[]> {
  const rows = await sql<DuePullRequest[]>`
    with due as materialized (
      ${duePullRequests(sql)} order by p.next_poll_at limit ${limit} for update of p skip locked
    )
    update pull_requests p
    set next_poll_at = outrider_now() + ${leaseMs} * interval '1 ms', poll_token = gen_random_uuid()
    from due where p.pull_request_id = due.pull_request_id
    returning ${sql(columns.map((column) => `p.${column}`))}, p.poll_token,
      round(extract(epoch from outrider_now() - p.changed_at) * 1000)::float as unchanged_ms`;
  return rows;
}

/** Returns a query for the pull requests that are due. */
export function duePullRequests(sql: Sql) {
  return sql`
    select p.pull_request_id, p.next_poll_at from pull_requests p
    where p.next_poll_at <= outrider_now()
      and not exists (select 1 from forge_requests f where f.forge_id = p.forge_id and f.blocked_until > outrider_now())`;
}

/** Locks a pull request that the caller polls. Returns undefined if the caller's lease is over. */
export async function lockPolledPullRequest(
  tx: Tx,
  { pull_request_id, poll_token }: Pick<DuePullRequest, "pull_request_id" | "poll_token">,
): Promise<PullRequestRow | undefined> {
  const [row] = await tx<PullRequestRow[]>`
    select ${tx(columns)} from pull_requests
    where pull_request_id = ${pull_request_id} and poll_token = ${poll_token} for update`;
  return row;
}

export interface PolledPullRequest {
  state: PullRequestState;
  title: string;
  base: string;
  head_commit: string;
  has_conflict: boolean;
  etags: PullRequestEtags;
  seen_comments: PullRequestRow["seen_comments"];
  seen_checks: PullRequestRow["seen_checks"];
  followup_count: number;
  /** Whether anything has changed at the forge, so that the pull request is polled more often. */
  isChanged: boolean;
  /** Whether lists of runs show something else than before. */
  isListedChange: boolean;
  /** When the next poll is due. Null: never. */
  nextPollMs: number | null;
}

/** Stores the result of a poll. The caller must hold the locks of the run and the pull request. */
export async function storePoll(
  tx: Tx,
  { pull_request_id, run_id }: Pick<PullRequestRow, "pull_request_id" | "run_id">,
  polled: PolledPullRequest,
): Promise<void> {
  const { state, title, base, head_commit, has_conflict, followup_count, nextPollMs } = polled;
  await tx`
    update pull_requests set
      state = ${state}, title = ${title}, base = ${base}, head_commit = ${head_commit}, has_conflict = ${has_conflict},
      etags = ${json(tx, polled.etags)}, seen_comments = ${json(tx, polled.seen_comments)},
      seen_checks = ${json(tx, polled.seen_checks)}, followup_count = ${followup_count}, poll_token = null,
      poll_failures = 0, next_poll_at = outrider_now() + ${nextPollMs}::float * interval '1 ms',
      changed_at = case when ${polled.isChanged} then outrider_now() else changed_at end, updated_at = outrider_now()
    where pull_request_id = ${pull_request_id}`;
  if (polled.isListedChange) await storeRunState(tx, run_id);
}

/** Postpones the next poll without a result. Null stops polling. */
export async function postponePoll(
  sql: Sql,
  { pull_request_id, poll_token }: Pick<DuePullRequest, "pull_request_id" | "poll_token">,
  { ms, isFailure }: { ms: number | null; isFailure: boolean },
): Promise<void> {
  await sql`
    update pull_requests set next_poll_at = outrider_now() + ${ms}::float * interval '1 ms', poll_token = null,
      poll_failures = poll_failures + ${isFailure ? 1 : 0}
    where pull_request_id = ${pull_request_id} and poll_token = ${poll_token}`;
}

/**
 * Counts requests to a forge. Returns false if they would exceed the limit for a minute, which all servers share, or if
 * the forge has asked to wait.
 */
export async function takeForgeRequests(
  sql: Sql,
  { forgeId, count, perMinute }: { forgeId: string; count: number; perMinute: number },
): Promise<boolean> {
  const { count: taken } = await sql`
    insert into forge_requests as f (forge_id, minute, requests)
    values (${forgeId}, date_trunc('minute', outrider_now()), ${count})
    on conflict (forge_id) do update set minute = excluded.minute,
      requests = case when f.minute = excluded.minute then f.requests else 0 end + excluded.requests
    where (f.blocked_until is null or f.blocked_until <= outrider_now())
      and (f.minute <> excluded.minute or f.requests + excluded.requests <= ${perMinute})`;
  return taken > 0;
}

/** Makes all servers wait before they send further requests to a forge. */
export async function blockForge(sql: Sql, forgeId: string, ms: number): Promise<void> {
  await sql`
    insert into forge_requests as f (forge_id, minute, requests, blocked_until)
    values (${forgeId}, date_trunc('minute', outrider_now()), 0, outrider_now() + ${ms} * interval '1 ms')
    on conflict (forge_id) do update set blocked_until = greatest(f.blocked_until, excluded.blocked_until)`;
}
