import { limits } from "@outrider/contract/limits";
import type { RunItem } from "@outrider/contract/run";
import { type ShareRequest, sharePrefix } from "@outrider/contract/shares/share";
import { readClock, type Sql, type Tx } from "../../store/connection/db.ts";
import { findRun } from "../../store/runs/runs.ts";
import { deleteShare, findSharedRunId, putShare } from "../../store/runs/shares.ts";
import { ApiError, invalidField } from "../api-error.ts";
import { type Principal, requireScope } from "../auth/principal.ts";
import { hashToken, newToken } from "../auth/tokens.ts";
import { lockRun } from "./runs.ts";

const HOUR_MS = 3_600_000;

export interface CreatedShare {
  token: string;
  expires_at: string;
}

/**
 * Creates a share link that replaces the run's previous one. The link grants read access, so the caller needs the
 * `runs:read` scope. A link created with a key expires no later than the key; a link created in a session may outlive
 * the session.
 */
export async function shareRun(
  tx: Tx,
  principal: Principal,
  runId: string,
  { expires_in_hours }: ShareRequest,
): Promise<CreatedShare> {
  requireScope(principal, "runs:read");
  await lockRun(tx, principal, runId);
  const hours = expires_in_hours ?? limits.share.hours.default;
  const requested = new Date(Date.parse(await readClock(tx)) + hours * HOUR_MS).toISOString();
  const { expires_at: end = requested } = principal.key ?? {};
  const isTooLate = Date.parse(requested) > Date.parse(end);
  if (isTooLate && expires_in_hours !== undefined) {
    throw invalidField(
      "/expires_in_hours",
      "must not be later than the expiry of the calling key",
      "not_authorized",
    );
  }
  const token = newToken(sharePrefix);
  const expires_at = isTooLate ? end : requested;
  await putShare(tx, { run_id: runId, hash: hashToken(token, [sharePrefix]) as Buffer, expires_at });
  return { token, expires_at };
}

export async function unshareRun(tx: Tx, principal: Principal, runId: string): Promise<void> {
  await lockRun(tx, principal, runId);
  await deleteShare(tx, runId);
}

/**
 * Returns the ID of the run that a share link refers to. It queries the database each time, so that a revoked link
 * stops working immediately on all servers.
 */
export async function requireShared(sql: Sql, token: string): Promise<string> {
  const hash = hashToken(token, [sharePrefix]);
  const runId = hash && (await findSharedRunId(sql, hash));
  if (!runId) throw invalidLink();
  return runId;
}

export async function getSharedRun(sql: Sql, token: string): Promise<RunItem> {
  const run = await findRun(sql, await requireShared(sql, token));
  if (!run) throw invalidLink();
  return run;
}

/** The error message deliberately does not reveal whether the link ever existed. */
function invalidLink(): ApiError {
  return new ApiError("resource_not_found", "This link is unknown or has expired.");
}
