import { limits } from "@outrider/contract/limits";
import type { RunItem } from "@outrider/contract/run";
import { type ShareRequest, sharePrefix } from "@outrider/contract/share";
import { readClock, type Sql, type Tx } from "../store/db.ts";
import { findRun } from "../store/runs.ts";
import { deleteShare, findSharedRunId, putShare } from "../store/shares.ts";
import { type Principal, requireScope } from "./principal.ts";
import { badMember, Refusal } from "./refusal.ts";
import { lockRun } from "./runs.ts";
import { hashToken, newToken } from "./tokens.ts";

const HOUR_MS = 3_600_000;

export interface MadeShare {
  token: string;
  expires_at: string;
}

/**
 * A link reads, so a key that may not read makes none; and as with keys, none lasts longer than the key that made it.
 * A session bounds nothing: that a browser signs out says nothing about what its person may do.
 */
export async function shareRun(
  tx: Tx,
  principal: Principal,
  runId: string,
  { expires_in_hours }: ShareRequest,
): Promise<MadeShare> {
  requireScope(principal, "runs:read");
  await lockRun(tx, principal, runId);
  const hours = expires_in_hours ?? limits.share.hours.default;
  const asked = new Date(Date.parse(await readClock(tx)) + hours * HOUR_MS).toISOString();
  const { expires_at: end = asked } = principal.key ?? {};
  const isBeyond = Date.parse(asked) > Date.parse(end);
  if (isBeyond && expires_in_hours !== undefined) {
    throw badMember("/expires_in_hours", "lies behind the expiry of the calling key", "not_authorized");
  }
  const token = newToken(sharePrefix);
  const expires_at = isBeyond ? end : asked;
  await putShare(tx, { run_id: runId, hash: hashToken(token, [sharePrefix]) as Buffer, expires_at });
  return { token, expires_at };
}

export async function unshareRun(tx: Tx, principal: Principal, runId: string): Promise<void> {
  await lockRun(tx, principal, runId);
  await deleteShare(tx, runId);
}

/** Asks the database each time, so that the end of a link holds from the next request on, on every server. */
export async function requireShared(sql: Sql, token: string): Promise<string> {
  const hash = hashToken(token, [sharePrefix]);
  const runId = hash && (await findSharedRunId(sql, hash));
  if (!runId) throw gone();
  return runId;
}

export async function getSharedRun(sql: Sql, token: string): Promise<RunItem> {
  const run = await findRun(sql, await requireShared(sql, token));
  if (!run) throw gone();
  return run;
}

/** The same words for all, so that nobody learns what once was. */
function gone(): Refusal {
  return new Refusal("resource_not_found", "This link opens nothing: it is unknown, or its time is over.");
}
