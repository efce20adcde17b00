import { randomUUID } from "node:crypto";
import { normalizeRunPath, type RunFiles, runFileLimits } from "@outrider/contract/run-file";
import type { FileRequestFailure, FileRequestKind } from "@outrider/contract/worker/run-file";
import type { Db } from "../../store/connection/db.ts";
import {
  type FileRequest,
  findFileRequest,
  findRunFiles,
  insertFileRequest,
  type RunFilesLocation,
} from "../../store/file-requests.ts";
import { ApiError, notFound, tooMany, unavailable } from "../api-error.ts";
import { type PubSub, topics } from "../live/pubsub.ts";

/*
 * Servers cannot read the files of a run: they are in a sandbox on a worker, or in a snapshot, which is a hostile archive.
 * So a worker reads them:
 *
 * 1. A request is stored as QUEUED. If a worker has the run's sandbox, it is asked first, through its signals. If it does
 *    not take the request within PREFER_MS, or there is no such worker, every worker is asked to read the snapshot.
 * 2. A worker that knows file requests takes one, also if all of its slots are in use. Older workers ignore them.
 * 3. The worker reports the entries of a folder, or stores the content of a file as a blob. The run's secrets are redacted.
 *
 * Meanwhile the client waits, at most `runFileLimits.waitMs`. A worker that needs longer, because it must fetch the files
 * of a large run, keeps them open for a while, and is asked first the next time.
 */

export const PREFER_MS = 2_000;
/** The number of requests of a user, and for a run, at the same time. */
const MAX_UNFINISHED = 8;
const RETRY_SECONDS = 2;
const POLL_MS = 800;

interface FileServices {
  db: Db;
  pubsub: PubSub;
}

interface NewRequest {
  runId: string;
  userUid: string;
  kind: FileRequestKind;
  path: string;
}

export interface FinishedRequest {
  path: string;
  request: Pick<FileRequest, "source" | "outcome" | "finished_at">;
}

/** Lists a folder of a run's workspace. The caller has checked that the user may see the run. */
export async function listRunFiles(
  services: FileServices,
  { path = "", ...request }: Omit<NewRequest, "kind" | "path"> & { path?: string | undefined },
  signal: AbortSignal,
): Promise<RunFiles> {
  const folder = normalizeRunPath(path);
  const finished = await readRunFiles(services, { ...request, kind: "list", path: folder }, signal);
  if (!finished) {
    if (folder !== "") throw explain("not_found", folder);
    const read_at = new Date().toISOString();
    return { path: folder, source: "snapshot", read_at, entries: [], is_truncated: false };
  }
  const { outcome, source, finished_at } = finished;
  if (outcome?.type !== "listed") throw unexpected();
  const { entries, is_truncated } = outcome;
  return { path: folder, source, read_at: finished_at as string, entries, is_truncated };
}

/** Returns the blob with the content of a file of a run's workspace. */
export async function readRunFile(
  services: FileServices,
  { path, ...request }: Omit<NewRequest, "kind">,
  signal: AbortSignal,
): Promise<{ path: string; sha256: string; size_bytes: number }> {
  const file = normalizeRunPath(path);
  const finished = await readRunFiles(services, { ...request, kind: "read", path: file }, signal);
  if (!finished) throw explain("not_found", file);
  const { outcome } = finished;
  if (outcome?.type !== "read") throw unexpected();
  return { path: file, sha256: outcome.sha256, size_bytes: outcome.size_bytes };
}

/** Returns undefined if the run has no files. */
async function readRunFiles(
  services: FileServices,
  { runId, userUid, kind, path }: NewRequest,
  signal: AbortSignal,
): Promise<FileRequest | undefined> {
  const { db, pubsub } = services;
  const location = await findRunFiles(db, runId);
  if (!location) throw notFound("run");
  const { sandbox_worker_id, reader_worker_id } = location;
  if (!sandbox_worker_id && !location.is_stored) {
    requireNotRemoved(location);
    return undefined;
  }
  const request_id = randomUUID();
  const preferredWorkerId = sandbox_worker_id ?? reader_worker_id;
  const isStored = await insertFileRequest(
    db,
    {
      ...{ request_id, run_id: runId, kind, path, requestedBy: userUid, preferredWorkerId },
      source: sandbox_worker_id ? "sandbox" : "snapshot",
    },
    { maxUnfinished: MAX_UNFINISHED, waitMs: runFileLimits.waitMs },
  );
  if (!isStored)
    throw tooMany(
      `At most ${MAX_UNFINISHED} files can be read at the same time, by one user and of one run. Try again in a moment.`,
      RETRY_SECONDS,
    );
  pubsub.publish(preferredWorkerId ? topics.worker(preferredWorkerId) : topics.fileRequests);
  return await waitForOutcome(services, { requestId: request_id, path }, signal);
}

async function waitForOutcome(
  { db, pubsub }: FileServices,
  { requestId, path }: { requestId: string; path: string },
  signal: AbortSignal,
): Promise<FileRequest> {
  const deadline = Date.now() + runFileLimits.waitMs;
  for (;;) {
    const ms = Math.min(POLL_MS, Math.max(0, deadline - Date.now()));
    // Subscribes before reading, so that a notification between the two is not missed.
    const notified = pubsub.next(topics.fileRequest(requestId), { ms, signal });
    const request = await findFileRequest(db, requestId);
    if (request?.state === "READY") return request;
    if (request?.outcome?.type === "failed")
      throw explain(request.outcome.reason, path, request.outcome.message);
    if (!request || Date.now() >= deadline || signal.aborted) throw notAnswered(request);
    await notified;
  }
}

function notAnswered(request: FileRequest | undefined): ApiError {
  if (request?.state === "READING")
    return unavailable("The worker is still opening the files. Try again in a few seconds.", RETRY_SECONDS);
  return unavailable(
    "No worker has read the files. Check that a worker is connected and not older than the server, then try again.",
    5,
  );
}

function requireNotRemoved({ files_removed_at }: RunFilesLocation): void {
  if (!files_removed_at) return;
  const day = new Date(files_removed_at).toISOString().slice(0, 10);
  throw new ApiError("resource_not_found", `The files were deleted by the retention policy on ${day}.`);
}

const limitMiB = runFileLimits.bytes / 1024 ** 2;

/** Turns a worker's reason into an error. Only `unavailable` has a message of the worker's own. */
export function explain(reason: FileRequestFailure, path: string, message?: string): ApiError {
  const name = path === "" ? "The workspace" : `\`${path}\``;
  switch (reason) {
    case "not_found":
      return new ApiError("resource_not_found", `${name} does not exist in the workspace.`);
    case "not_a_folder":
      return new ApiError("conflict", `${name} is not a folder. Links are not followed.`);
    case "not_a_file":
      return new ApiError("conflict", `${name} is not a file. Links are not followed.`);
    case "not_readable":
      return new ApiError("conflict", `The user of the sandbox is not allowed to read ${name}.`);
    case "too_large":
      return new ApiError(
        "conflict",
        `${name} is larger than ${limitMiB} MiB, the maximum size of a download.`,
      );
    case "contains_secret":
      return new ApiError(
        "conflict",
        `${name} is a binary file that contains a secret. Secrets cannot be masked in binary files.`,
      );
    case "unavailable":
      return unavailable(
        message ?? "The worker could not read the files. Try again in a moment.",
        RETRY_SECONDS,
      );
  }
}

function unexpected(): ApiError {
  return unavailable("The worker gave an unexpected answer. Try again in a moment.", RETRY_SECONDS);
}
