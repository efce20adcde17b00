import { randomUUID } from "node:crypto";
import type { NewEvent } from "@outrider/contract/event";
import type { Logger } from "pino";
import {
  type ForgeClient,
  ForgeError,
  type ForgePullRequest,
  type RepositoryName,
} from "../../forges/forge-client.ts";
import type { Db, Sql, Tx } from "../../store/connection/db.ts";
import { findPublication, type PublicationRow, takePushedPublication } from "../../store/publications.ts";
import {
  blockForge,
  findPullRequestOfBranch,
  type PullRequestRow,
  putPullRequest,
  toPullRequest,
} from "../../store/pull-requests.ts";
import { appendEngineEvents } from "../../store/runs/events.ts";
import { lockRunState } from "../../store/runs/run-state.ts";
import { findRun } from "../../store/runs/runs.ts";
import { listTurnCommands } from "../../store/runs/turn-commands.ts";
import { ApiError } from "../api-error.ts";
import { type PubSub, topics } from "../live/pubsub.ts";
import { completePublication, failPublication, retryPublication } from "./publications.ts";
import { isIssue, pullRequestBody, pullRequestTitle } from "./pull-request-body.ts";

/*
 * Opens and updates the pull requests of pushed publications. Exactly one pull request per branch is open, even if
 * servers work at the same time, crash or lose the connection to the forge:
 *
 * 1. A server leases a publication. Leases are longer than the calls take, and no transaction is open during calls.
 * 2. It looks for the pull request of the branch before it creates one. After a crash between creating and storing it,
 *    the next attempt finds it.
 * 3. Forges accept only one open pull request per branch and base. If creating it conflicts, it is looked for again.
 * 4. The result is stored only if no other server has leased the publication since: each lease increases `attempts`.
 *
 * A merged or closed pull request is not replaced, unless a user asks for a publication.
 */

/** Longer than a few calls to the forge, each of which takes at most 15 s. */
const LEASE_MS = 180_000;
const CONCURRENCY = 4;
const MAX_PER_ROUND = 100;

export interface ForgeClients {
  clientFor(forgeId: string): Promise<ForgeClient>;
  findByUrl(sql: Sql, url: string): Promise<{ forgeId: string; repository: RepositoryName } | undefined>;
}

export interface OpenOptions {
  db: Db;
  forges: ForgeClients;
  pubsub: PubSub;
  /** The server's own URL, for links to runs. */
  origin(): string;
  log: Logger;
}

/** Opens the pull requests of all publications that are due. */
export async function openPullRequests(options: OpenOptions): Promise<void> {
  const { db } = options;
  let remaining = MAX_PER_ROUND;
  const take = async () => (remaining-- > 0 ? takePushedPublication(db, { leaseMs: LEASE_MS }) : undefined);
  // Usually nothing is due, and finding that out must not need several connections to the database.
  const first = await take();
  if (!first) return;
  const work = async (taken: PublicationRow | undefined) => {
    for (let next = taken; next; next = await take()) await openPullRequest(options, next);
  };
  const others = Array.from({ length: CONCURRENCY - 1 }, async () => work(await take()));
  await Promise.all([work(first), ...others]);
}

async function openPullRequest(options: OpenOptions, publication: PublicationRow): Promise<void> {
  const { db, forges, pubsub, log } = options;
  const { publication_id, run_id, repository: url } = publication;
  const forge = await forges.findByUrl(db, url);
  try {
    if (!forge) {
      throw new ApiError(
        "external_authentication_required",
        `No forge is connected for ${url}. The branch was pushed. Connect the forge and publish again.`,
      );
    }
    const client = await forges.clientFor(forge.forgeId);
    const result = await publish(options, publication, { client, repository: forge.repository });
    const { owner, name } = forge.repository;
    await db.begin((tx) =>
      storeResult(tx, publication, { ...result, forgeId: forge.forgeId, repository: `${owner}/${name}` }),
    );
  } catch (error) {
    log.info({ error, publication_id }, "failed to open a pull request");
    if (forge && error instanceof ForgeError && error.code === "rate_limited")
      await blockForge(db, forge.forgeId, error.retryAfterMs ?? 60_000);
    await db.begin((tx) => storeError(tx, publication, error));
  }
  pubsub.publish(topics.run(run_id));
}

interface Result {
  pullRequest: ForgePullRequest;
  warnings: string[];
  /** A sentence for the log of the run. */
  notice?: string;
}

/** Finds the pull request of the branch and updates it, or creates one. */
async function publish(
  { db, origin }: OpenOptions,
  publication: PublicationRow,
  { client, repository }: { client: ForgeClient; repository: RepositoryName },
): Promise<Result> {
  const { run_id: runId, path, branch, kind, options, pushed_commit, requested_by, turn } = publication;
  const run = await findRun(db, runId);
  if (!run) throw new ApiError("resource_not_found", "The run was deleted.");
  const { labels = [], reviewers = [], issues = [] } = options;
  const title = pullRequestTitle(publication.title);
  const body = pullRequestBody({
    run,
    link: `${origin()}/runs/${runId}`,
    path,
    text: publication.body,
    issues,
    commands: await listTurnCommands(db, { runId, turn }),
  });
  const warnings = issues
    .filter((issue) => !isIssue(issue))
    .map((issue) => `\`${issue}\` is not an issue, such as \`#12\` or \`owner/name#12\`.`);

  const update = async (found: ForgePullRequest): Promise<Result> => {
    const stored = await findPullRequestOfBranch(db, { runId, path, branch });
    // A title that reviewers have changed stays as it is.
    const isOwnTitle = stored?.number !== found.number || stored.title === found.title;
    const changes = { body, ...(isOwnTitle && title !== found.title ? { title } : {}) };
    if (found.state === "draft" && kind === "pull_request")
      warnings.push(`Pull request #${found.number} stays a draft. Mark it as ready for review on the forge.`);
    try {
      return { pullRequest: await client.updatePullRequest(repository, found.number, changes), warnings };
    } catch (error) {
      // The branch is pushed, so the pull request has the changes even if its text stays the same.
      if (!(error instanceof ForgeError) || error.isRetryable || error.code === "unauthorized") throw error;
      return { pullRequest: found, warnings: [...warnings, error.message] };
    }
  };

  const which = { branch, ...(publication.base ? { base: publication.base } : {}) };
  // Lists of forges can be incomplete for a moment, for example in Gitea after a push.
  const readStored = async (): Promise<ForgePullRequest | undefined> => {
    const stored = await findPullRequestOfBranch(db, { runId, path, branch });
    if (!stored) return undefined;
    try {
      const read = await client.readPullRequest(repository, stored.number, {});
      return read.isUnchanged ? undefined : read.pullRequest;
    } catch (error) {
      if (error instanceof ForgeError && error.code === "not_found") return undefined;
      throw error;
    }
  };
  const found = (await client.findPullRequest(repository, which)) ?? (await readStored());
  if (found && isOpen(found)) return update(found);
  if (found) {
    const stored = await findPullRequestOfBranch(db, { runId, path, branch });
    const isUnknown = !stored || stored.number < found.number;
    // Someone merged or closed it before it was stored.
    if (isUnknown && found.head_commit === pushed_commit) return { pullRequest: found, warnings };
    if (requested_by.type !== "user") {
      const notice = `Pull request #${found.number} is ${found.state}, so the new commits are only on the branch \`${branch}\`. Publish the changes yourself to open another pull request.`;
      return { pullRequest: found, warnings: [...warnings, notice], notice };
    }
  }
  const base = publication.base ?? (await client.getRepository(repository)).default_branch;
  const draft = kind === "draft_pull_request";
  try {
    const created = await client.createPullRequest(repository, {
      ...{ branch, base, title, body, draft, labels, reviewers },
    });
    const { warnings: refused, ...pullRequest } = created;
    return { pullRequest, warnings: [...warnings, ...refused] };
  } catch (error) {
    if (!(error instanceof ForgeError) || error.code !== "conflict") throw error;
    const other = await client.findPullRequest(repository, which);
    if (other && isOpen(other)) return update(other);
    throw error;
  }
}

function isOpen({ state }: ForgePullRequest): boolean {
  return state === "open" || state === "draft";
}

async function storeResult(
  tx: Tx,
  taken: PublicationRow,
  { pullRequest, warnings, notice, forgeId, repository }: Result & { forgeId: string; repository: string },
): Promise<void> {
  if (!(await lockTaken(tx, taken))) return;
  const { publication_id, run_id, path, branch } = taken;
  const { number, url, base, state, title } = pullRequest;
  const stored = await findPullRequestOfBranch(tx, { runId: run_id, path, branch });
  const previous = stored?.number === number ? stored : undefined;
  // A pull request that is closed does not get the commit. An open one has it, even if the forge does not show it yet.
  const head_commit = (isOpen(pullRequest) && taken.pushed_commit) || pullRequest.head_commit;
  const pushed_commit = head_commit;
  const row = {
    ...{ pull_request_id: previous?.pull_request_id ?? randomUUID(), run_id, path, forge_id: forgeId },
    ...{ repository, number, url, branch, base, state, title, head_commit, pushed_commit },
  };
  await putPullRequest(tx, row);
  const shown = toPullRequest(row);
  const events: NewEvent[] = [];
  if (previous) {
    const changes = changesOf(previous, row);
    if (changes.length > 0) events.push({ type: "pull_request.updated", data: { ...shown, changes } });
  } else {
    events.push({ type: "pull_request.opened", data: shown });
  }
  if (notice) events.push({ type: "notice", data: { message: notice, code: "pull_request_closed" } });
  await appendEngineEvents(tx, run_id, events);
  await completePublication(tx, publication_id, { pullRequest: shown, warnings });
}

type Compared = Pick<PullRequestRow, "state" | "title" | "base" | "head_commit">;

function changesOf(before: Compared, after: Compared): ("state" | "commits" | "title" | "base")[] {
  return [
    ...(before.state === after.state ? [] : (["state"] as const)),
    ...(before.head_commit === after.head_commit ? [] : (["commits"] as const)),
    ...(before.title === after.title ? [] : (["title"] as const)),
    ...(before.base === after.base ? [] : (["base"] as const)),
  ];
}

/** Locks the run. Returns false if the publication has ended, or another server has leased it since. */
async function lockTaken(tx: Tx, taken: PublicationRow): Promise<boolean> {
  if (!(await lockRunState(tx, taken.run_id))) return false;
  const row = await findPublication(tx, taken.publication_id);
  return row?.state === "PUSHED" && row.attempts === taken.attempts;
}

async function storeError(tx: Tx, taken: PublicationRow, error: unknown): Promise<void> {
  if (!(await lockTaken(tx, taken))) return;
  const { publication_id } = taken;
  if (error instanceof ForgeError) {
    const { code, message, isRetryable, retryAfterMs } = error;
    const errorCode = code === "unauthorized" ? "external_authentication_required" : "repository_unreachable";
    if (!isRetryable) return failPublication(tx, publication_id, { message: pushed(message), errorCode });
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
    return retryPublication(tx, publication_id, { message, errorCode, ...wait });
  }
  if (error instanceof ApiError) {
    const { message, code: errorCode } = error;
    return failPublication(tx, publication_id, { message, errorCode });
  }
  const message = "The server failed to open the pull request and tries again.";
  return retryPublication(tx, publication_id, { message, errorCode: "internal_error" });
}

/** Says that a failure leaves the branch in place. */
function pushed(message: string): string {
  return `The branch was pushed, but there is no pull request: ${message} Publish the changes again when this is fixed.`;
}
