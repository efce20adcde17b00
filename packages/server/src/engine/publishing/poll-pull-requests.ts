import type { NewEvent } from "@outrider/contract/event";
import type { ResolvedPublishPolicy } from "@outrider/contract/publish-policy";
import type { Logger } from "pino";
import {
  type Conditional,
  type FailedCheck,
  type ForgeClient,
  type ForgeComment,
  ForgeError,
  type ForgePullRequest,
} from "../../forges/forge-client.ts";
import type { Db, Tx } from "../../store/connection/db.ts";
import { findWaitingRun } from "../../store/dispatch/requirements.ts";
import { updatePublishedPullRequest } from "../../store/publications.ts";
import {
  blockForge,
  type DuePullRequest,
  lockPolledPullRequest,
  type PolledPullRequest,
  type PullRequestRow,
  postponePoll,
  storePoll,
  takeDuePullRequests,
  takeForgeRequests,
  toPullRequest,
} from "../../store/pull-requests.ts";
import { appendEngineEvents } from "../../store/runs/events.ts";
import { lockRunState, type RunStateRow } from "../../store/runs/run-state.ts";
import { ApiError } from "../api-error.ts";
import type { WakeUps } from "../dispatch/wake-ups.ts";
import { type PubSub, topics } from "../live/pubsub.ts";
import type { Counters } from "../operations/counters.ts";
import type { ForgeClients } from "./open-pull-requests.ts";
import {
  type FollowupServices,
  limitMessage,
  type SendResult,
  sendFeedback,
  trustedComments,
} from "./review-followups.ts";
import { loadPublishingRun } from "./run-repositories.ts";

/*
 * Polls the pull requests of runs, so that runs show their state and agents receive feedback.
 *
 * - Each server takes a few pull requests that are due. A token in the row ensures that only the server that took one
 *   last stores what it read.
 * - All servers together send at most PER_MINUTE requests to a forge. If a forge asks to wait, all servers wait.
 * - What has changed, follow-ups, and what has been seen are stored in one transaction. A comment or failed check
 *   therefore becomes part of exactly one follow-up.
 * - An ETag is stored only when everything that it stands for has been handled, so that feedback that a run cannot take
 *   yet is read again.
 */

const BATCH = 20;
const CONCURRENCY = 4;
/** Longer than the calls of a poll, each of which takes at most 15 s. */
const LEASE_MS = 180_000;
export const REQUESTS_PER_MINUTE = 60;
const MIN_INTERVAL_MS = 30_000;
const MAX_INTERVAL_MS = 600_000;
const MAX_FAILURE_INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;
const MAX_OPEN_DAYS = 14;
const MAX_SEEN_COMMENTS = 2_000;

export interface PollOptions extends FollowupServices {
  db: Db;
  forges: Pick<ForgeClients, "clientFor">;
  gitHost: string;
  pubsub: PubSub;
  wakeUps: Pick<WakeUps, "wake">;
  counters: Counters;
  log: Logger;
}

/** Polls the pull requests that are due. */
export async function pollPullRequests(options: PollOptions): Promise<void> {
  const due = await takeDuePullRequests(options.db, { limit: BATCH, leaseMs: LEASE_MS });
  const work = async () => {
    for (let next = due.shift(); next; next = due.shift()) await pollPullRequest(options, next);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

async function pollPullRequest(options: PollOptions, taken: DuePullRequest): Promise<void> {
  const { db, forges, gitHost, log, pubsub, wakeUps, counters } = options;
  const { forge_id: forgeId, run_id, pull_request_id } = taken;
  try {
    const run = await loadPublishingRun(db, { gitHost }, run_id);
    const policy = run?.repositories.find(({ repo }) => repo.path === taken.path)?.policy;
    const wanted = policy?.publish === "none" ? undefined : policy?.follow_up;
    const count = 1 + (wanted?.comments ? 3 : 0) + (wanted?.checks ? 2 : 0);
    if (!(await takeForgeRequests(db, { forgeId, count, perMinute: REQUESTS_PER_MINUTE })))
      return await postponePoll(db, taken, { ms: MIN_INTERVAL_MS / 2, isFailure: false });
    const seen = await read(await forges.clientFor(forgeId), taken, wanted);
    const result = await db.begin((tx) => store(tx, options, { taken, seen }));
    if (result.isChanged) pubsub.publish(topics.run(run_id));
    if (!result.isSent) return;
    counters.add("followups_sent");
    const waiting = await findWaitingRun(db, run_id);
    if (waiting) wakeUps.wake(waiting);
  } catch (error) {
    log.info({ error, pull_request_id }, "failed to poll a pull request");
    await storeFailure(db, taken, error);
  }
}

type FollowUpPolicy = ResolvedPublishPolicy["follow_up"];

interface Seen {
  etags: { pull_request?: string };
  pullRequest: Pick<ForgePullRequest, "state" | "title" | "base" | "head_commit" | "mergeable">;
  isUnchanged: boolean;
  /** Undefined if the policy does not want them, or nothing has changed. */
  comments?: { etag?: string; comments: ForgeComment[] };
  checks?: { etag?: string; isComplete: boolean; checks: FailedCheck[] };
  wantsConflicts: boolean;
}

async function read(
  client: ForgeClient,
  row: DuePullRequest,
  wanted: FollowUpPolicy | undefined,
): Promise<Seen> {
  const { number, etags } = row;
  const slash = row.repository.lastIndexOf("/");
  const repository = { owner: row.repository.slice(0, slash), name: row.repository.slice(slash + 1) };
  const found = await client.readPullRequest(repository, number, withTag(etags.pull_request));
  const pullRequest: Seen["pullRequest"] = found.isUnchanged
    ? { ...row, mergeable: !row.has_conflict }
    : found.pullRequest;
  const isOpen = pullRequest.state === "open" || pullRequest.state === "draft";
  // The agent does not have commits that others have pushed, so it cannot repair them.
  const hasOwnHead = pullRequest.head_commit === row.pushed_commit;
  const seenCommit = row.seen_checks.commit;
  const comments =
    isOpen && wanted?.comments
      ? changedValue(await client.listComments(repository, number, withTag(etags.comments)))
      : undefined;
  const checks =
    isOpen && wanted?.checks && hasOwnHead
      ? changedValue(
          await client.listFailedChecks(
            repository,
            pullRequest.head_commit,
            // An ETag belongs to the checks of one commit.
            withTag(seenCommit === pullRequest.head_commit ? etags.checks : undefined),
          ),
        )
      : undefined;
  const tag = found.isUnchanged ? etags.pull_request : found.etag;
  return {
    etags: tag === undefined ? {} : { pull_request: tag },
    pullRequest,
    isUnchanged: found.isUnchanged,
    ...(comments ? { comments } : {}),
    ...(checks ? { checks } : {}),
    wantsConflicts: isOpen && (wanted?.checks ?? false),
  };
}

const withTag = (etag: string | undefined) => (etag === undefined ? {} : { etag });

function changedValue<T>(result: Conditional<T>): (T & { etag?: string }) | undefined {
  if (result.isUnchanged) return undefined;
  const { isUnchanged: _, ...value } = result;
  return value as T & { etag?: string };
}

interface Stored {
  isChanged: boolean;
  isSent: boolean;
}

/** Stores what a poll has seen, and sends what is new as one follow-up. */
async function store(
  tx: Tx,
  services: FollowupServices,
  { taken, seen }: { taken: DuePullRequest; seen: Seen },
): Promise<Stored> {
  const runState = await lockRunState(tx, taken.run_id);
  const row = runState && (await lockPolledPullRequest(tx, taken));
  if (!runState || !row) return { isChanged: false, isSent: false };
  const { pullRequest } = seen;
  const { state, title, base, head_commit, mergeable } = pullRequest;
  const isOpen = state === "open" || state === "draft";
  // Some forges call a pull request unmergeable while they check it, so only the second poll in a row counts.
  const isSuspect = isOpen && mergeable === false && !row.has_conflict;
  const isConfirmed = isSuspect && row.seen_checks.unmergeable === head_commit;
  const has_conflict =
    isOpen && (mergeable === undefined || isSuspect ? row.has_conflict || isConfirmed : !mergeable);
  const shown = toPullRequest({ ...row, state, title, base });
  const events: NewEvent[] = [];
  const changes = [
    ...(row.state === state ? [] : (["state"] as const)),
    ...(row.head_commit === head_commit ? [] : (["commits"] as const)),
    ...(row.title === title ? [] : (["title"] as const)),
    ...(row.base === base ? [] : (["base"] as const)),
  ];
  if (changes.length > 0) {
    events.push({ type: "pull_request.updated", data: { ...shown, changes } });
    await updatePublishedPullRequest(tx, { runId: row.run_id, path: row.path, pullRequest: shown });
  }
  if (has_conflict && !row.has_conflict) {
    const message = `Pull request #${row.number} conflicts with \`${base}\`. Send a follow-up to have the agent resolve the conflicts.`;
    events.push({ type: "notice", data: { message, code: "pull_request_conflict" } });
  }
  const handled = await handleFeedback(tx, services, { runState, row, seen, has_conflict });
  if (handled.notice)
    events.push({ type: "notice", data: { message: handled.notice, code: "review_followups" } });
  await appendEngineEvents(tx, row.run_id, events);
  const isChanged = changes.length > 0 || handled.hasNews || has_conflict !== row.has_conflict;
  const { unmergeable: _, ...seen_checks } = handled.seen_checks;
  const polled: PolledPullRequest = {
    ...{ state, title, base, head_commit, has_conflict },
    etags: { ...(isSuspect ? {} : seen.etags), ...handled.etags },
    seen_comments: handled.seen_comments,
    seen_checks: { ...seen_checks, ...(isSuspect ? { unmergeable: head_commit } : {}) },
    followup_count: row.followup_count + (handled.isSent ? 1 : 0),
    isChanged,
    isListedChange: changes.length > 0,
    nextPollMs: nextPollMs({ state, unchangedMs: isChanged ? 0 : taken.unchanged_ms }),
  };
  await storePoll(tx, row, polled);
  return { isChanged: events.length > 0 || handled.isSent, isSent: handled.isSent };
}

interface Handled extends Pick<PullRequestRow, "seen_comments" | "seen_checks"> {
  etags: { comments?: string; checks?: string };
  hasNews: boolean;
  isSent: boolean;
  notice?: string;
}

/** Sends comments, failed checks and a conflict that the run has not seen, and returns what it has seen then. */
async function handleFeedback(
  tx: Tx,
  services: FollowupServices,
  options: { runState: RunStateRow; row: PullRequestRow; seen: Seen; has_conflict: boolean },
): Promise<Handled> {
  const { runState, row, seen, has_conflict } = options;
  const { head_commit } = seen.pullRequest;
  const allComments = seen.comments?.comments ?? [];
  const newComments = allComments.filter(({ kind, id }) => !(`${kind} ${id}` in row.seen_comments));
  const comments = trustedComments(newComments);
  const known = row.seen_checks.commit === head_commit ? (row.seen_checks.ids ?? []) : [];
  // Waits until all checks have ended, so that the agent sees all failures at once.
  const checks = seen.checks?.isComplete ? seen.checks.checks.filter(({ id }) => !known.includes(id)) : [];
  const conflictId = `conflict with ${seen.pullRequest.base}`;
  const hasConflict = seen.wantsConflicts && has_conflict && !known.includes(conflictId);
  const hasNews = comments.length > 0 || checks.length > 0 || hasConflict;
  const result: SendResult = hasNews
    ? await sendFeedback(tx, services, {
        runState,
        pullRequest: row,
        feedback: { comments, checks, hasConflict },
      })
    : { type: "dropped", message: "" };
  if (result.type === "later") {
    const { seen_comments, seen_checks } = row;
    return { etags: {}, seen_comments, seen_checks, hasNews: false, isSent: false };
  }
  const isComplete = seen.checks?.isComplete ?? true;
  const commentsTag = seen.comments ? seen.comments.etag : row.etags.comments;
  const checksTag = seen.checks ? seen.checks.etag : row.etags.checks;
  const ids = [...known, ...checks.map(({ id }) => id), ...(hasConflict ? [conflictId] : [])];
  const notice = result.type === "dropped" ? result.message : result.isLast ? limitMessage : "";
  return {
    etags: {
      ...(commentsTag === undefined ? {} : { comments: commentsTag }),
      ...(checksTag === undefined || !isComplete ? {} : { checks: checksTag }),
    },
    seen_comments: addSeen(row.seen_comments, newComments),
    seen_checks: { commit: head_commit, ids: ids.slice(-1_000) },
    hasNews: hasNews || newComments.length > 0,
    isSent: result.type === "sent",
    ...(notice ? { notice } : {}),
  };
}

/** Adds comments to those that were seen, and forgets the oldest ones. */
function addSeen(
  seen: PullRequestRow["seen_comments"],
  comments: ForgeComment[],
): PullRequestRow["seen_comments"] {
  if (comments.length === 0) return seen;
  const entries = [
    ...Object.entries(seen),
    ...comments.map(({ kind, id, created_at }): [string, string] => [`${kind} ${id}`, created_at]),
  ];
  return Object.fromEntries(entries.slice(-MAX_SEEN_COMMENTS));
}

/** Polls often while something happens, and less and less often afterwards. Null: never again. */
export function nextPollMs({
  state,
  unchangedMs,
}: {
  state: ForgePullRequest["state"];
  unchangedMs: number;
}): number | null {
  if (state === "merged") return null;
  // A closed pull request can be opened again.
  if (unchangedMs >= (state === "closed" ? 1 : MAX_OPEN_DAYS) * DAY_MS) return null;
  return Math.min(Math.max(unchangedMs / 10, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
}

async function storeFailure(db: Db, taken: DuePullRequest, error: unknown): Promise<void> {
  const { forge_id, poll_failures, unchanged_ms } = taken;
  // The forge was disconnected.
  if (error instanceof ApiError && error.code === "resource_not_found")
    return postponePoll(db, taken, { ms: null, isFailure: true });
  const isLimited = error instanceof ForgeError && error.code === "rate_limited";
  const wait = error instanceof ForgeError ? (error.retryAfterMs ?? 0) : 0;
  if (isLimited) await blockForge(db, forge_id, wait || 60_000);
  const isAbandoned = unchanged_ms >= MAX_OPEN_DAYS * DAY_MS;
  const backoff = Math.min(MIN_INTERVAL_MS * 2 ** Math.min(poll_failures, 10), MAX_FAILURE_INTERVAL_MS);
  const ms = isAbandoned ? null : Math.max(wait, isLimited ? MIN_INTERVAL_MS : backoff);
  await postponePoll(db, taken, { ms, isFailure: !isLimited });
}
