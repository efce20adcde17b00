import { randomUUID } from "node:crypto";
import type { ErrorCode } from "@outrider/contract/errors/error";
import type { AssignedPublication, PublicationFinishRequest } from "@outrider/contract/worker/publication";
import type { Logger } from "pino";
import { ForgeError } from "../../forges/forge-client.ts";
import type { Db, Sql, Tx } from "../../store/connection/db.ts";
import { findForge } from "../../store/forges.ts";
import {
  changePublication,
  findPublication,
  type PublicationRow,
  takePublication,
} from "../../store/publications.ts";
import { recordPush } from "../../store/run-branches.ts";
import { appendEngineEvents } from "../../store/runs/events.ts";
import { lockRunState } from "../../store/runs/run-state.ts";
import { listSealedSecrets } from "../../store/secrets.ts";
import { ApiError, notFound } from "../api-error.ts";
import type { Vault } from "../auth/vault.ts";
import { findForgeOf } from "../forges/forges.ts";
import { noCredential } from "./forge-access.ts";
import {
  failLocked,
  MAX_RETRY_MS,
  notAllowed,
  type PublishingServices,
  statusMessage,
} from "./publications.ts";
import { retryDelay } from "./retries.ts";
import { loadPublishingRun, type RunRepository } from "./run-repositories.ts";

/*
 * Workers push publications. The signal stream of every worker lists the queued ones, and a worker takes one, also if all
 * of its slots are in use. `token` is the fencing token: only the worker that took it last can finish it. If its lease
 * expires, the publication is queued again (publication-reaper.ts). Pushing a commit that is already on the branch changes
 * nothing, so a worker that was lost after the push does no harm.
 */

const LEASE_MS = 5 * 60_000;
/** How many tokens of an app a forge may reject. */
const MAX_TOKENS = 3;

export interface AssignServices extends PublishingServices {
  db: Db;
  vault: Vault;
  log: Logger;
}

class Unpublishable extends Error {}

/** Assigns a publication to a worker, with the credential of the repository. */
export async function assignPublication(
  services: AssignServices,
  { publicationId, workerId }: { publicationId: string; workerId: string },
): Promise<AssignedPublication> {
  const { db, log } = services;
  const take = { publicationId, workerId, token: randomUUID(), leaseMs: LEASE_MS };
  const row = await takePublication(db, take);
  if (!row) throw new ApiError("conflict", "Another worker has taken the publication, or it has ended.");
  try {
    return await toAssigned(services, row);
  } catch (error) {
    // Forges are asked outside of a transaction, so the publication must still belong to this worker.
    const problem = explain(error);
    if (!problem) log.error({ error, publication_id: publicationId }, "failed to assign a publication");
    const outcome = {
      type: "failed" as const,
      error_code: "internal_error" as const,
      message: "The server could not assign the publication. Its log says why.",
      is_retryable: true,
      ...problem,
    };
    const request = { worker_id: workerId, token: row.token as string, outcome };
    await db.begin((tx) => finishPublication(tx, publicationId, request));
    throw new ApiError("conflict", outcome.message);
  }
}

function explain(error: unknown) {
  if (error instanceof Unpublishable) {
    const error_code = "external_authentication_required" as const;
    return { message: error.message, error_code, is_retryable: false };
  }
  if (!(error instanceof ForgeError)) return undefined;
  const isRetryable = error.isRetryable;
  return {
    message: error.message,
    error_code: isRetryable
      ? ("repository_unreachable" as const)
      : ("external_authentication_required" as const),
    is_retryable: isRetryable,
  };
}

async function toAssigned(services: AssignServices, row: PublicationRow): Promise<AssignedPublication> {
  const { db } = services;
  const run = await loadPublishingRun(db, services, row.run_id);
  const repository = run?.repositories.find(({ repo }) => repo.path === row.path);
  if (!repository || repository.repo.url !== row.repository) {
    throw new Unpublishable(
      `The environment no longer contains ${row.repository}. Publish the changes again.`,
    );
  }
  if (repository.policy.publish === "none") throw new Unpublishable(notAllowed(repository));
  const { policy, published } = repository;
  const { signing_secret } = policy;
  const access = await openAccess(services, repository);
  const signing_key = signing_secret && (await openSecret(services, signing_secret));
  const { publication_id, run_id, bundle_sha256, bundle_bytes, base_commit, tip, branch, base } = row;
  return {
    publication_id,
    token: row.token as string,
    lease_ms: LEASE_MS,
    run_id,
    ...access,
    bundle: { sha256: bundle_sha256 as string, size_bytes: bundle_bytes ?? 0 },
    base_commit,
    tip,
    branch,
    ...(base ? { base } : {}),
    ...(published ? { expected: published.commit } : {}),
    on_base_moved: policy.on_base_moved,
    ...(policy.co_author ? { co_author: policy.co_author } : {}),
    sign_off: policy.sign_off,
    ...(signing_key ? { signing_key } : {}),
  };
}

/** Returns the repository with the value of its secret, or with the credential of the connected forge. */
async function openAccess(
  services: AssignServices,
  { repo }: RunRepository,
): Promise<Pick<AssignedPublication, "repository" | "credentials">> {
  const { db, forges } = services;
  if (repo.secret) {
    const value = await openSecret(services, repo.secret);
    return { repository: repo, credentials: { [repo.secret]: value } };
  }
  const forge = await forges.findByUrl(db, repo.url);
  const found = forge && (await forges.credentialFor(repo.url, { write: true }));
  if (!found) throw new Unpublishable(noCredential(repo.url));
  const { forgeId } = forge;
  return { repository: { ...repo, forge_id: forgeId }, credentials: { [forgeId]: found.credential } };
}

async function openSecret({ db, vault }: { db: Sql; vault: Vault }, name: string): Promise<string> {
  const [sealed] = await listSealedSecrets(db, [name]);
  if (!sealed) throw new Unpublishable(`The secret \`${name}\` does not exist. Create it and publish again.`);
  return vault.open(sealed.sealed, `secret ${name}`);
}

/** Ends an attempt to push. Repeating the request has no further effect. */
export async function finishPublication(
  tx: Tx,
  publicationId: string,
  { worker_id, token, outcome }: PublicationFinishRequest,
): Promise<PublicationRow> {
  const found = await findPublication(tx, publicationId);
  if (!found || !(await lockRunState(tx, found.run_id))) throw notFound("publication");
  const row = (await findPublication(tx, publicationId)) as PublicationRow;
  if (row.token !== token || row.worker_id !== worker_id) {
    throw new ApiError("conflict", "The publication does not belong to this worker.");
  }
  if (row.state !== "PUSHING") return row;
  const { attempts } = row;
  if (outcome.type === "abandoned") {
    return changePublication(tx, publicationId, { state: "QUEUED", attempts: attempts - 1, dueInMs: 0 });
  }
  if (outcome.type === "pushed") return recordPushed(tx, row, outcome);
  const problem = { message: outcome.message, errorCode: outcome.error_code };
  const isRetryable = outcome.is_retryable || (await hasExpiredToken(tx, row, outcome.error_code));
  if (!isRetryable || (row.waited_ms ?? 0) >= MAX_RETRY_MS) {
    await failLocked(tx, row, problem);
    return (await findPublication(tx, publicationId)) as PublicationRow;
  }
  const status_message = statusMessage(problem, true);
  return changePublication(tx, publicationId, {
    state: "QUEUED",
    status_message,
    dueInMs: retryDelay(attempts),
  });
}

/** Returns whether another attempt may help, because it gets a new token of the app. */
async function hasExpiredToken(
  sql: Sql,
  { repository, attempts }: PublicationRow,
  errorCode: ErrorCode,
): Promise<boolean> {
  if (errorCode !== "external_authentication_required" || attempts >= MAX_TOKENS) return false;
  const found = await findForgeOf(sql, repository);
  return found !== undefined && (await findForge(sql, found.forgeId))?.auth.type === "app";
}

type Pushed = Extract<PublicationFinishRequest["outcome"], { type: "pushed" }>;

async function recordPushed(
  tx: Tx,
  row: PublicationRow,
  { commit, default_branch, is_forced }: Pushed,
): Promise<PublicationRow> {
  const { publication_id, run_id: runId, path, tip, branch, repository, kind } = row;
  await recordPush(tx, { runId, path, tip, commit });
  const isForced = is_forced ? ({ is_forced: true } as const) : {};
  await appendEngineEvents(tx, runId, [
    { type: "branch.pushed", data: { repository, path, branch, commit, ...isForced } },
  ]);
  return changePublication(tx, publication_id, {
    state: kind === "branch" ? "DONE" : "PUSHED",
    base: row.base ?? default_branch ?? null,
    pushed_commit: commit,
    status_message: null,
    attempts: 0,
    dueInMs: 0,
    restartsRetries: true,
  });
}
