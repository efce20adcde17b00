import type { ClaimRequest, ClaimResponse } from "@outrider/contract/worker";
import { DEFAULT_POOL } from "@outrider/contract/worker-pool";
import type { Db } from "../../store/connection/db.ts";
import type { Work } from "../../store/dispatch/claims.ts";
import type { WaitingRun } from "../../store/dispatch/requirements.ts";
import { findWaitingWork, type WaitingWork } from "../../store/dispatch/waiting-work.ts";
import { recordSeen } from "../../store/dispatch/workers.ts";
import { ApiError } from "../api-error.ts";
import { takeQueuedBuild } from "../builds/builds.ts";
import { type PubSub, topics } from "../live/pubsub.ts";
import type { MaintenanceView } from "../operations/maintenance.ts";
import { takeQueuedShell } from "../shells/shells.ts";
import { assignAll, type ClaimServices, claimForAll } from "./claims.ts";
import { canTake, type Offering, offeringOf, placeKey } from "./pools.ts";
import type { Offer, WaitingClaims } from "./waiting-claims.ts";
import type { WakeUps } from "./wake-ups.ts";

/*
 * Finds work for all workers whose claims wait at this server. A claim waits here until there is work, its wait time ends or
 * the worker disconnects.
 *
 * The claimer works in rounds, one at a time, so that a server never has more than one claim in progress. Whatever happens
 * during a round is part of the next one. A round
 * 1. asks which kinds of work are waiting and which keys have been revoked, in one query for all workers. It does so after a
 *    notification, and every POLL_MS because notifications can be lost. A server without waiting workers asks nothing, and a
 *    notification about a run counts only if a worker that can take it is idle here (wake-ups.ts);
 * 2. ends the claims whose key has been revoked, because assignments contain secrets;
 * 3. takes shells, because users are waiting for them;
 * 4. claims runs in one statement for all workers of a pool that may get one: all after a notification, and otherwise only
 *    those whose claim is new;
 * 5. takes builds for workers that are still idle.
 *
 * A new claim starts a round at once, unless many workers of the same place are idle: what they cannot take, it cannot take
 * either. New claims are then collected for COLLECT_MS, so that the cost does not depend on the number of workers.
 *
 * Between rounds, each idle claim is offered to the transactions that create runs (waiting-claims.ts). A claim is in only one
 * of these two places at a time, so it never gets more work than it has free slots.
 */

const POLL_MS = 800;
const COLLECT_MS = 200;
/** The number of idle workers of a place from which on its new claims are collected. */
const MANY_IDLE = 32;
/** How often waiting workers are recorded as alive. Less than a third of the time after which they count as lost. */
const SEEN_MS = 4_000;
/** The number of claims in the first statement of a round if runs are waiting. Most notifications are about one run. */
const FIRST_BATCH = 16;
const BATCH = 128;
/**
 * The number of claims in a statement after one that claimed nothing: few of them, if any, can take a waiting run. Runs that no
 * worker can take therefore cost one statement each time that the server looks for work.
 */
const LAST_BATCH = 2_000;

/** Tells workers which fields this server accepts in the next requests. */
const offers = {
  offers_shells: true,
  offers_harnesses: true,
  offers_pools: true,
  offers_delta_index: true,
  offers_finish_all: true,
  offers_sandboxes: true,
};

export interface ClaimerServices extends ClaimServices {
  db: Db;
  /** A dedicated connection for claims: they are serialized, so waiting claims could otherwise exhaust the pool. */
  claims: Db;
  waitingClaims: WaitingClaims;
  wakeUps: WakeUps;
  pubsub: PubSub;
  maintenance: MaintenanceView;
}

export interface ClaimOptions {
  request: ClaimRequest;
  credentialId: string;
  /** Aborts when the worker closes the connection or the server stops. */
  signal: AbortSignal;
  /** Called once with the claimed runs. */
  onClaimed(work: { run_id: string; attempt: number }[]): void;
}

/** What a claim gets. */
interface Outcome extends Required<Pick<ClaimResponse, "builds" | "shells">> {
  work: Work[];
  draining: boolean;
}

const nothing: Outcome = { work: [], draining: false, builds: [], shells: [] };

class Waiter {
  readonly request: ClaimRequest;
  readonly credentialId: string;
  readonly offering: Offering;
  /** The same for all claims that can take the same runs. */
  readonly place: string;
  readonly deadline: number;
  /** True if a run may be waiting for this claim. */
  needsClaim = true;
  isNew = true;
  isAborted = false;
  /** True while a round looks for work for this claim, or a transaction that creates a run has taken it. */
  isTaken = false;
  offer: Offer | undefined;
  /** Ends the announcement that the worker is idle. */
  endAnnouncement: (() => void) | undefined;
  readonly #outcome = Promise.withResolvers<Outcome>();

  constructor(request: ClaimRequest, credentialId: string, deadline: number) {
    this.request = request;
    this.credentialId = credentialId;
    this.deadline = deadline;
    this.offering = offeringOf(request);
    this.place = `${placeKey(request.worker)} ${request.takes_harnesses ?? false}`;
  }

  get pool(): string {
    return this.offering.pool;
  }

  /** True if a round or a transaction that creates a run can take the claim now. */
  get isIdle(): boolean {
    return !this.isTaken && (this.offer?.isOpen() ?? true);
  }

  /** Whether the worker may take a run, if the claim has a free slot. */
  canTake(run: WaitingRun): boolean {
    const isWorker = run.workerId === null || run.workerId === this.request.worker.worker_id;
    return !this.isAborted && isWorker && canTake(this.offering, run);
  }

  get outcome(): Promise<Outcome> {
    return this.#outcome.promise;
  }

  settle(outcome: Outcome) {
    this.#outcome.resolve(outcome);
  }

  fail(error: unknown) {
    this.#outcome.reject(error);
  }

  isOver(): boolean {
    return this.isAborted || Date.now() >= this.deadline;
  }
}

export class Claimer {
  readonly #services: ClaimerServices;
  readonly #waiters = new Set<Waiter>();
  readonly #pools = new Set<string>();
  /** What to do about runs that wait and that only claims which are taken could get, by requirements. */
  readonly #undecided = new Map<string, () => void>();
  #isRunning = false;
  #mustLook = false;
  #waiting: WaitingWork = { has_runs: false, has_builds: false, shell_claims: [], draining: [], revoked: [] };
  /** Pools whose waiting runs none of the workers could take in the last round. */
  readonly #poolsWithoutMatch = new Set<string>();
  /** Keys of places for whose workers no build was waiting at the last look. */
  readonly #placesWithoutBuild = new Set<string>();
  #timer: { handle: NodeJS.Timeout; dueAt: number } | undefined;
  #roundAt = 0;
  #lookedAt = 0;
  #seenAt = 0;

  constructor(services: ClaimerServices) {
    this.#services = services;
    this.#subscribe(DEFAULT_POOL);
    services.pubsub.on(topics.keys, () => this.#look());
    services.wakeUps.onWake((run, pass) => this.#wake(run, pass));
  }

  /** The subscription lasts as long as the server, so that a worker's next claim need not look for work again. */
  #subscribe(pool: string) {
    if (this.#pools.has(pool)) return;
    this.#pools.add(pool);
    this.#services.pubsub.on(topics.queueOf(pool), () => this.#look());
    this.#mustLook = true;
  }

  /** The number of claims that wait. */
  get count(): number {
    return this.#waiters.size;
  }

  /** Returns work for a worker as soon as there is any, or an empty response when the request's wait time ends. */
  async claim({ request, credentialId, signal, onClaimed }: ClaimOptions): Promise<ClaimResponse> {
    const { db, policy } = this.#services;
    // Wait for at most half a lease: the claim of a worker that was killed may still be open, and must end before the
    // worker's runs are reassigned.
    const waitMs = Math.min(request.wait_ms, policy.leaseMs / 2);
    const waiter = new Waiter(request, credentialId, Date.now() + waitMs);
    const end = () => this.#endIfIdle(waiter);
    const timer = setTimeout(end, waitMs + 1);
    const abort = () => {
      waiter.isAborted = true;
      end();
    };
    signal.addEventListener("abort", abort);
    waiter.isAborted = signal.aborted;
    this.#add(waiter);
    try {
      const { work, draining, ...others } = await waiter.outcome;
      onClaimed(work);
      return { executions: await assignAll(db, this.#services, work), draining, ...others, ...offers };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  #add(waiter: Waiter) {
    this.#waiters.add(waiter);
    this.#subscribe(waiter.pool);
    this.#schedule();
  }

  #remove(waiter: Waiter) {
    this.#waiters.delete(waiter);
    waiter.endAnnouncement?.();
    if (this.#waiters.size === 0) this.#clearTimer();
  }

  #finish(waiter: Waiter, outcome: Outcome) {
    this.#remove(waiter);
    waiter.settle(outcome);
  }

  #fail(waiter: Waiter, error: unknown) {
    this.#remove(waiter);
    waiter.fail(error);
  }

  /** Ends a claim whose time is over or whose worker is gone, unless it is getting work right now. */
  #endIfIdle(waiter: Waiter) {
    if (waiter.isNew || waiter.isTaken || !this.#waiters.has(waiter) || !waiter.isOver()) return;
    if (this.#withdraw(waiter)) this.#finish(waiter, nothing);
  }

  /** Withdraws a claim's offer. Returns false if a transaction that creates a run has taken the claim. */
  #withdraw(waiter: Waiter): boolean {
    waiter.isTaken = waiter.offer?.withdraw() === false;
    if (!waiter.isTaken) waiter.offer = undefined;
    return !waiter.isTaken;
  }

  /** Looks for work because there may be some. */
  #look() {
    this.#mustLook = true;
    this.#schedule();
  }

  /** Looks for work if a worker that can take the run is idle. While all such claims are taken, this is decided later. */
  #wake(run: WaitingRun, pass?: () => void) {
    let isTaken = false;
    for (const waiter of this.#waiters) {
      if (!waiter.canTake(run) || this.#freeOf(waiter) === 0) continue;
      if (waiter.isIdle) return this.#look();
      isTaken = true;
    }
    const key = JSON.stringify(run);
    if (!isTaken) pass?.();
    else if (pass || !this.#undecided.has(key)) this.#undecided.set(key, () => this.#wake(run, pass));
  }

  /** Decides about runs that have waited for claims which were taken. */
  #decide() {
    const undecided = [...this.#undecided.values()];
    this.#undecided.clear();
    for (const decide of undecided) decide();
  }

  /** Starts a round when one is due. */
  #schedule() {
    if (this.#isRunning || this.#waiters.size === 0) return;
    const dueAt = this.#nextRoundAt();
    if (dueAt <= Date.now()) {
      this.#clearTimer();
      this.#isRunning = true;
      void this.#runRounds();
    } else if (!this.#timer || dueAt < this.#timer.dueAt) {
      this.#clearTimer();
      const onDue = () => {
        this.#timer = undefined;
        this.#schedule();
      };
      this.#timer = { handle: setTimeout(onDue, dueAt - Date.now()), dueAt };
    }
  }

  #clearTimer() {
    clearTimeout(this.#timer?.handle);
    this.#timer = undefined;
  }

  /** Returns when the next round is due: at once for a claim that may get something, and otherwise when it is time to look. */
  #nextRoundAt(): number {
    if (this.#mustLook) return 0;
    const lookAt = this.#lookedAt + POLL_MS;
    const pending = this.#takeable().filter(({ needsClaim }) => needsClaim);
    if (pending.length === 0) return lookAt;
    const idle = new Map<string, number>();
    for (const { isNew, place, request } of this.#waiters)
      if (!isNew && request.free > 0) idle.set(place, (idle.get(place) ?? 0) + 1);
    const canWait = (waiter: Waiter) =>
      waiter.isNew && !isShort(waiter) && (idle.get(waiter.place) ?? 0) >= MANY_IDLE;
    return pending.every(canWait) ? Math.min(lookAt, this.#roundAt + COLLECT_MS) : 0;
  }

  async #runRounds() {
    while (this.#waiters.size > 0 && this.#nextRoundAt() <= Date.now()) {
      this.#roundAt = Date.now();
      if (this.#roundAt >= this.#lookedAt + POLL_MS) this.#mustLook = true;
      const waiters = this.#takeable().filter((waiter) => this.#take(waiter));
      try {
        await this.#round(waiters);
      } catch (error) {
        for (const waiter of waiters) if (this.#waiters.has(waiter)) this.#fail(waiter, error);
      }
      for (const waiter of waiters) this.#return(waiter);
      this.#decide();
    }
    this.#isRunning = false;
    this.#schedule();
  }

  #takeable(): Waiter[] {
    return [...this.#waiters].filter(({ isTaken }) => !isTaken);
  }

  /** Takes a claim into a round. Returns false if it is not needed, or a transaction that creates a run has taken it. */
  #take(waiter: Waiter): boolean {
    if ((!this.#mustLook && !waiter.needsClaim) || !this.#withdraw(waiter)) return false;
    waiter.isTaken = true;
    return true;
  }

  /** Ends a claim after a round or an offer if its time is over, or offers it to transactions that create runs. */
  #return(waiter: Waiter) {
    if (!this.#waiters.has(waiter)) return;
    waiter.isTaken = false;
    waiter.isNew = false;
    if (waiter.isOver()) return this.#finish(waiter, nothing);
    if (this.#freeOf(waiter) === 0) return;
    waiter.endAnnouncement ??= this.#services.wakeUps.announce(waiter.request);
    waiter.offer = this.#services.waitingClaims.offer(waiter.request, (work) => {
      waiter.offer = undefined;
      if (work.length > 0) this.#finish(waiter, { ...nothing, work });
      else {
        waiter.needsClaim = true;
        this.#return(waiter);
        this.#schedule();
      }
      this.#decide();
    });
  }

  /** While dispatch is paused, a claim still records that the worker is alive and returns what a lost response contained. */
  #freeOf({ request }: Waiter): number {
    return this.#services.maintenance.dispatchEnabled() ? request.free : 0;
  }

  async #round(all: Waiter[]) {
    const mustLook = this.#mustLook || all.some((waiter) => waiter.isNew && isShort(waiter));
    await Promise.all([mustLook ? this.#findWork() : undefined, this.#recordSeen()]);
    const draining = new Set(this.#waiting.draining);
    const revoked = new Set(this.#waiting.revoked);
    for (const waiter of all.filter((one) => this.#waiters.has(one))) {
      if (revoked.has(waiter.credentialId))
        this.#fail(waiter, new ApiError("authentication_required", "The API key is expired or revoked."));
      // A draining worker still gets what an earlier response contained, if that was lost.
      else if (draining.has(waiter.request.worker.worker_id) && !waiter.isNew)
        this.#finish(waiter, { ...nothing, draining: true });
    }
    const open = () => all.filter((waiter) => this.#waiters.has(waiter));
    const shells = await this.#takeShells(open());
    await this.#claimRuns(open(), shells);
    await this.#takeBuilds(open());
  }

  async #findWork() {
    this.#mustLook = false;
    this.#lookedAt = Date.now();
    const workerIds = [...this.#waiters].map(({ request }) => request.worker.worker_id);
    const credentialIds = [...new Set([...this.#waiters].map(({ credentialId }) => credentialId))];
    this.#waiting = await findWaitingWork(this.#services.db, { workerIds, credentialIds });
    this.#placesWithoutBuild.clear();
    if (!this.#waiting.has_runs) return;
    for (const waiter of this.#waiters) waiter.needsClaim ||= this.#freeOf(waiter) > 0;
  }

  async #recordSeen() {
    if (Date.now() - this.#seenAt < SEEN_MS) return;
    this.#seenAt = Date.now();
    const workerIds = [...this.#waiters].map(({ request }) => request.worker.worker_id);
    await recordSeen(this.#services.db, workerIds);
  }

  /** Takes shells. Returns them by the claim that gets them, which may still get runs for its other slots. */
  async #takeShells(waiters: Waiter[]): Promise<Map<Waiter, Outcome["shells"]>> {
    const taken = new Map<Waiter, Outcome["shells"]>();
    for (const claimId of this.#waiting.shell_claims) {
      // Only workers that the shell's environment selects get it, so one worker of each place tries.
      const tried = new Set<string>();
      for (const waiter of waiters) {
        const place = placeKey(waiter.request.worker);
        const canTry =
          waiter.request.takes_shells &&
          this.#freeOf(waiter) > 0 &&
          !waiter.isAborted &&
          !taken.has(waiter) &&
          !tried.has(place) &&
          (claimId === null || claimId === waiter.request.request_id);
        if (!canTry) continue;
        tried.add(place);
        const shell = await takeQueuedShell(this.#services.db, this.#services, waiter.request);
        if (!shell) continue;
        taken.set(waiter, [shell]);
        break;
      }
    }
    return taken;
  }

  async #claimRuns(waiters: Waiter[], shells: Map<Waiter, Outcome["shells"]>) {
    const pools = Map.groupBy(
      waiters.filter((waiter) => waiter.needsClaim || shells.has(waiter)),
      ({ pool }) => pool,
    );
    for (const [pool, inPool] of pools) {
      let hasMore = true;
      let isMatched = false;
      const firstBatch = this.#poolsWithoutMatch.has(pool) ? LAST_BATCH : FIRST_BATCH;
      let size = this.#waiting.has_runs ? firstBatch : BATCH;
      for (let start = 0; start < inPool.length; ) {
        const batch = inPool.slice(start, start + size);
        start += size;
        // New claims must be recorded, and may repeat one whose response was lost.
        const claimed = hasMore ? batch : batch.filter((waiter) => waiter.isNew || shells.has(waiter));
        if (claimed.length > 0) hasMore = await this.#claimBatch(pool, claimed, shells);
        for (const waiter of batch) waiter.needsClaim = false;
        const isAnyDone = batch.some((waiter) => !this.#waiters.has(waiter));
        isMatched ||= isAnyDone;
        size = isAnyDone ? BATCH : LAST_BATCH;
      }
      if (hasMore && !isMatched) this.#poolsWithoutMatch.add(pool);
      else this.#poolsWithoutMatch.delete(pool);
    }
  }

  async #claimBatch(
    pool: string,
    waiters: Waiter[],
    shells: Map<Waiter, Outcome["shells"]>,
  ): Promise<boolean> {
    // A worker may repeat a request before the server notices that the first connection is lost. Both get the same runs.
    const requests = new Map<string, ClaimRequest>();
    for (const waiter of waiters) {
      const free = waiter.isAborted ? 0 : this.#freeOf(waiter) - (shells.get(waiter)?.length ?? 0);
      requests.set(waiter.request.request_id, { ...waiter.request, free: Math.max(0, free) });
    }
    const { claimed, hasMore } = await claimForAll(this.#services.claims, this.#services, pool, [
      ...requests.values(),
    ]);
    for (const waiter of waiters) {
      const found = claimed.get(waiter.request.request_id);
      const own = shells.get(waiter);
      if (found || own) this.#finish(waiter, { ...nothing, ...found, ...(own ? { shells: own } : {}) });
    }
    return hasMore;
  }

  async #takeBuilds(waiters: Waiter[]) {
    if (!this.#waiting.has_builds) return;
    for (const waiter of waiters) {
      const { worker } = waiter.request;
      if (this.#freeOf(waiter) === 0 || waiter.isAborted || this.#placesWithoutBuild.has(placeKey(worker)))
        continue;
      const build = await takeQueuedBuild(this.#services.db, this.#services, worker);
      if (build) this.#finish(waiter, { ...nothing, builds: [build] });
      else this.#placesWithoutBuild.add(placeKey(worker));
    }
  }
}

/** Whether a claim ends before the server looks for work the next time. */
function isShort({ deadline }: Waiter): boolean {
  return deadline - Date.now() < POLL_MS;
}
