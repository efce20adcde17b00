import { errorEntry } from "@outrider/contract/errors/error";
import type { EnvironmentProposal } from "@outrider/contract/proposal";
import type { RunStatusMessage } from "@outrider/contract/run";
import type { AssignedProposal, ProposalFinishRequest } from "@outrider/contract/worker/proposal";
import { v7 as uuidv7 } from "uuid";
import type { Sql, Tx } from "../../store/connection/db.ts";
import {
  completeProposal,
  countUnfinishedProposals,
  failOverdueProposals,
  failProposal,
  findProposal,
  insertProposal,
  lockTakenProposal,
  type ProposalRepository,
  requeueProposal,
  takeProposal,
} from "../../store/proposals.ts";
import { listSealedSecrets } from "../../store/secrets.ts";
import { ApiError, notFound, tooMany } from "../api-error.ts";
import type { Principal } from "../auth/principal.ts";
import type { Vault } from "../auth/vault.ts";
import { assignRepos, resolveRepo } from "./builds.ts";

/*
 * A proposal suggests settings for an environment from the files of a repository. Servers have no access to repositories,
 * so a worker reads it:
 *
 * 1. A request is stored as QUEUED. The signal stream of every worker lists the queued ones.
 * 2. A worker that knows proposals takes one, also if all of its slots are in use. Older workers ignore the list.
 * 3. The worker reports the result. If it stops before that, it returns the proposal to the queue.
 *
 * A proposal that waits or takes too long fails when it is read next. There are no retries: the user can ask again.
 */

const MAX_UNFINISHED_PER_USER = 10;
const RETRY_SECONDS = 5;
/** Workers take a queued proposal within about a second. */
const MAX_QUEUED_MS = 60_000;
/** More than a worker spends on reading. */
const MAX_TOTAL_MS = 4 * 60_000;

const notTaken = statusMessage(
  "resource_unavailable",
  "No worker has read the repository. Start a worker, or upgrade the workers if their version is older than the server's.",
);
const notFinished = statusMessage(
  "worker_lost",
  "The worker did not finish reading the repository. Try again.",
);

export async function requestProposal(
  tx: Tx,
  { userUid }: Principal,
  repository: ProposalRepository,
): Promise<EnvironmentProposal> {
  await failOverdue(tx);
  if ((await countUnfinishedProposals(tx, userUid)) >= MAX_UNFINISHED_PER_USER) {
    throw tooMany(
      `You have ${MAX_UNFINISHED_PER_USER} unfinished proposals, which is the maximum. Wait until one of them has finished.`,
      RETRY_SECONDS,
    );
  }
  return insertProposal(tx, { proposalId: uuidv7(), requestedBy: userUid, repository });
}

/** Only the user who requested a proposal can read it, because it shows the content of a repository. */
export async function readProposal(
  sql: Sql,
  { userUid }: Principal,
  proposalId: string,
): Promise<EnvironmentProposal> {
  await failOverdue(sql);
  const proposal = await findProposal(sql, { proposalId, requestedBy: userUid });
  if (!proposal) throw notFound("proposal");
  return proposal;
}

async function failOverdue(sql: Sql): Promise<void> {
  await failOverdueProposals(sql, "QUEUED", { olderThanMs: MAX_QUEUED_MS, message: notTaken });
  await failOverdueProposals(sql, "READING", { olderThanMs: MAX_TOTAL_MS, message: notFinished });
}

/** Assigns a proposal to a worker, with the value of the repository's secret. */
export async function assignProposal(
  tx: Tx,
  { vault, gitHost }: { vault: Vault; gitHost: string },
  { proposalId, workerId }: { proposalId: string; workerId: string },
): Promise<AssignedProposal> {
  const repository = await takeProposal(tx, { proposalId, workerId });
  if (!repository) throw new ApiError("conflict", "Another worker has taken the proposal, or it has ended.");
  const { secret } = repository;
  const sealed = secret === undefined ? [] : await listSealedSecrets(tx, [secret]);
  const values = sealed.map(({ name, sealed: value }) => [name, vault.open(value, `secret ${name}`)]);
  const [assigned = resolveRepo(repository, gitHost)] = await assignRepos(tx, [repository], gitHost);
  return { repository: assigned, credentials: Object.fromEntries(values) };
}

export async function finishProposal(
  tx: Tx,
  proposalId: string,
  { worker_id: workerId, outcome }: ProposalFinishRequest,
): Promise<void> {
  const state = await lockTakenProposal(tx, { proposalId, workerId });
  // The request may be repeated, or the proposal may have failed in the meantime.
  if (state === "READY" || state === "FAILED") return;
  if (state !== "READING") throw new ApiError("conflict", "The proposal does not belong to this worker.");
  if (outcome.type === "ready") await completeProposal(tx, proposalId, outcome.result);
  else if (outcome.type === "abandoned") await requeueProposal(tx, proposalId);
  else await failProposal(tx, proposalId, statusMessage(outcome.error_code, outcome.message));
}

function statusMessage(error_code: Parameters<typeof errorEntry>[0], message: string): RunStatusMessage {
  const { retryable, remedy } = errorEntry(error_code);
  return { message, error_code, retryable, remedy };
}
