import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import type { RunFileSource } from "@outrider/contract/run-file";
import type { AssignedFileRequest, StoredRunFiles } from "@outrider/contract/worker/assigned-file-request";
import type { FileRequestFinishRequest } from "@outrider/contract/worker/run-file";
import { findOtherSandbox } from "../../store/builds.ts";
import type { Tx } from "../../store/connection/db.ts";
import {
  findFileRequest,
  findRunFiles,
  findStoredFiles,
  finishFileRequest,
  requeueFileRequest,
  takeFileRequest,
} from "../../store/file-requests.ts";
import { ApiError } from "../api-error.ts";
import { environmentOfRun } from "../builds/builds.ts";
import { type ClaimServices, openSecrets, unmaskConfig, withoutPlace } from "../dispatch/claims.ts";

/** Assigns a request to a worker. A worker without the run's sandbox gets what it needs to open the stored files. */
export async function assignFileRequest(
  tx: Tx,
  services: ClaimServices,
  take: { requestId: string; workerId: string; source: RunFileSource },
): Promise<AssignedFileRequest> {
  const request = await takeFileRequest(tx, take);
  if (!request) throw new ApiError("conflict", "Another worker has taken the request, or it has ended.");
  const { request_id, run_id, kind, path } = request;
  const assigned = { request_id, run_id, kind, path };
  if (take.source === "sandbox") return assigned;
  const sandbox = await findOtherSandbox(tx, { runId: run_id, workerId: take.workerId });
  if (sandbox !== undefined)
    throw new ApiError(
      "conflict",
      `Only a worker with sandboxes of the kind \`${sandbox}\` can open the files.`,
    );
  return { ...assigned, stored: await assignStored(tx, services, run_id) };
}

async function assignStored(tx: Tx, services: ClaimServices, runId: string): Promise<StoredRunFiles> {
  const row = await findStoredFiles(tx, runId);
  if (!row) throw new ApiError("conflict", "The run has been deleted.");
  const location = await findRunFiles(tx, runId);
  if (!location?.is_stored)
    throw new ApiError("conflict", "Only the worker with the run's sandbox can read its files.");
  const { vault, models, harnesses } = services;
  const {
    harness: name = DEFAULT_HARNESS,
    publish: _,
    ...agent_config
  } = withoutPlace(unmaskConfig(row, vault));
  const modelId = agent_config.model_id ?? models.list.default_model_id;
  const hasMcpServers = Object.keys(agent_config.mcp_servers ?? {}).length > 0;
  const harness = harnesses.assign({ name, modelId, hasMcpServers });
  return {
    ...{ run_id: runId, agent_config },
    ...(harness ? { harness } : {}),
    model: models.work(modelId),
    ...(await environmentOfRun(tx, services, runId)),
    ...(row.snapshot ? { snapshot: row.snapshot } : {}),
    secrets: await openSecrets(tx, vault, row),
  };
}

/** Stores what a worker reports. Returns whether any worker can take the request again. */
export async function finishRequest(
  tx: Tx,
  requestId: string,
  { worker_id: workerId, outcome }: FileRequestFinishRequest,
): Promise<{ isQueued: boolean }> {
  const request = await findFileRequest(tx, requestId);
  // The request may be repeated, or the row may have been deleted in the meantime.
  if (request?.state !== "READING") return { isQueued: false };
  const location = await findRunFiles(tx, request.run_id);
  if (outcome.type === "abandoned" && location?.is_stored)
    return { isQueued: await requeueFileRequest(tx, { requestId, workerId }) };
  const finished =
    outcome.type === "abandoned" ? withoutFiles(request.kind === "list" && request.path === "") : outcome;
  if (!(await finishFileRequest(tx, { requestId, workerId, outcome: finished })))
    throw new ApiError("conflict", "The request does not belong to this worker.");
  return { isQueued: false };
}

/** A run that has opened no sandbox and stored nothing has an empty workspace. */
function withoutFiles(isRoot: boolean): FileRequestFinishRequest["outcome"] {
  return isRoot
    ? { type: "listed", entries: [], is_truncated: false }
    : { type: "failed", reason: "not_found" };
}
