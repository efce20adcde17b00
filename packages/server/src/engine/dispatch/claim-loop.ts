import type { ClaimRequest, ClaimResponse } from "@outrider/contract/worker";
import { findRevokedCredentials } from "../../store/auth/credentials.ts";
import type { Db } from "../../store/connection/db.ts";
import { ApiError } from "../api-error.ts";
import type { Vault } from "../auth/vault.ts";
import { takeQueuedBuild } from "../builds/builds.ts";
import type { Harnesses } from "../harnesses/harnesses.ts";
import { type PubSub, topics } from "../live/pubsub.ts";
import type { Models } from "../models/models.ts";
import type { MaintenanceView } from "../operations/maintenance.ts";
import type { RunPolicy } from "../runs/run-policy.ts";
import { takeQueuedShell } from "../shells/shells.ts";
import { assignAll, claim } from "./claims.ts";
import type { WaitingClaims } from "./waiting-claims.ts";

/*
 * Implements long polling for a worker's claim. The loop repeats until work is available, the wait time ends or the
 * worker disconnects:
 *
 * 1. Take a shell, because a user is waiting for it. Claim runs from the queue for the other slots. If there are none,
 *    take a queued build instead.
 * 2. If there is no work, register the claim so that a run created on this server can be assigned to it directly
 *    (waiting-claims.ts). Then wait for a notification on the queue topic or for POLL_MS, whichever comes first.
 *    Polling is necessary because notifications can be lost.
 * 3. Check periodically that the worker's key has not been revoked, because assignments contain secrets.
 */

const POLL_MS = 800;
const CREDENTIAL_CHECK_MS = 500;

/** Tells workers which fields this server accepts in the next claim. */
const offers = { offers_shells: true, offers_harnesses: true };

interface ClaimLoopServices {
  db: Db;
  /** A dedicated connection for claims: they are serialized, so waiting claims could otherwise exhaust the pool. */
  claims: Db;
  waitingClaims: WaitingClaims;
  vault: Vault;
  models: Models;
  harnesses: Harnesses;
  policy: RunPolicy;
  gitHost: string;
  pubsub: PubSub;
  maintenance: MaintenanceView;
}

interface ClaimLoopOptions {
  request: ClaimRequest;
  credentialId: string;
  /** Aborts when the worker closes the connection or the server stops. */
  signal: AbortSignal;
  /** Called once with the claimed runs. */
  onClaimed(work: { run_id: string; attempt: number }[]): void;
}

export async function claimWhenAvailable(
  services: ClaimLoopServices,
  { request, credentialId, signal, onClaimed }: ClaimLoopOptions,
): Promise<ClaimResponse> {
  const { db, claims, waitingClaims, policy, pubsub, maintenance } = services;
  // Wait for at most half a lease: the claim of a worker that was killed may still be open, and must end before the
  // worker's runs are reassigned.
  const deadline = Date.now() + Math.min(request.wait_ms, policy.leaseMs / 2);
  let checkedAt = Date.now();
  for (;;) {
    const ms = Math.min(POLL_MS, Math.max(0, deadline - Date.now()));
    // Subscribes before claiming, so that a notification between the two is not missed.
    const notified = pubsub.next(topics.queue, { ms, signal });
    // While the queue is paused, a claim still records that the worker is alive and returns assignments whose response
    // was lost.
    const free = maintenance.dispatchEnabled() ? request.free : 0;
    const shell =
      request.takes_shells && free > 0 && !signal.aborted
        ? await takeQueuedShell(db, services, request)
        : undefined;
    const claimed = await claim(claims, services, { ...request, free: shell ? free - 1 : free });
    const isIdle = claimed.executions.length === 0 && !claimed.draining && !signal.aborted && !shell;
    const build =
      isIdle && free > 0 ? await takeQueuedBuild(db, services, request.worker.worker_id) : undefined;
    if (!isIdle || build || Date.now() >= deadline) {
      onClaimed(claimed.executions);
      const shells = shell ? [shell] : [];
      return { ...claimed, builds: build ? [build] : [], shells, ...offers };
    }
    const offer = free > 0 ? waitingClaims.offer(request) : undefined;
    await Promise.race([notified, ...(offer ? [offer.settled] : [])]);
    const work = (await offer?.end()) ?? [];
    if (work.length > 0) {
      onClaimed(work);
      return {
        executions: await assignAll(claims, services, work),
        draining: false,
        builds: [],
        ...offers,
      };
    }
    if (Date.now() - checkedAt < CREDENTIAL_CHECK_MS) continue;
    if ((await findRevokedCredentials(db, [credentialId])).length > 0)
      throw new ApiError("authentication_required", "The API key is expired or revoked.");
    checkedAt = Date.now();
  }
}
