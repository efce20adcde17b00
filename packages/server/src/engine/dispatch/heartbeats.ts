import type { HeartbeatRequest } from "@outrider/contract/worker";
import { type Db, isUnreachable } from "../../store/connection/db.ts";
import { type Renewal, recordHeartbeats } from "../../store/dispatch/heartbeats.ts";
import { renewLeases } from "../../store/dispatch/leases.ts";
import { recordWorker } from "../../store/dispatch/workers.ts";

/*
 * Each server records the heartbeats of its workers in batches. A heartbeat that arrives alone is recorded at once. After
 * that, heartbeats wait until BUSY_MS have passed since the last batch, or IDLE_MS if their worker executes nothing: there
 * is no lease to lose, and no cancellation to confirm. A worker counts its leases from the time at which it sent the
 * request, and the database counts them from the time at which it records it. So waiting never lets a worker believe
 * that a lease lasts longer than it does.
 *
 * A heartbeat that the batch could not decide without waiting for a lock is recorded by itself. So is every heartbeat of a
 * batch that failed, so that what is wrong with one does not affect the others.
 */

const BUSY_MS = 50;
const IDLE_MS = 500;
const MAX_BATCH = 1_000;

interface Pending extends PromiseWithResolvers<Renewal> {
  request: HeartbeatRequest;
}

export class Heartbeats {
  readonly #db: Db;
  readonly #leaseMs: number;
  #pending: Pending[] = [];
  #recordedAt = Number.NEGATIVE_INFINITY;
  #timer: { handle: NodeJS.Timeout; dueAt: number } | undefined;

  constructor({ db, leaseMs }: { db: Db; leaseMs: number }) {
    this.#db = db;
    this.#leaseMs = leaseMs;
  }

  /** Records that the worker is alive and renews its leases. The result is authoritative. */
  record(request: HeartbeatRequest): Promise<Renewal> {
    const pending = { request, ...Promise.withResolvers<Renewal>() };
    this.#pending.push(pending);
    // With short leases, as in tests, waiting must stay short as well.
    const waitMs = Math.min(request.executions.length > 0 ? BUSY_MS : IDLE_MS, this.#leaseMs / 60);
    this.#schedule(Math.max(performance.now(), this.#recordedAt + waitMs));
    return pending.promise;
  }

  #schedule(dueAt: number) {
    if (this.#timer && this.#timer.dueAt <= dueAt) return;
    clearTimeout(this.#timer?.handle);
    const handle = setTimeout(() => this.#flush(), Math.max(0, dueAt - performance.now()));
    this.#timer = { handle, dueAt };
  }

  #flush() {
    this.#timer = undefined;
    this.#recordedAt = performance.now();
    const batch = new Map<string, Pending>();
    const later: Pending[] = [];
    for (const pending of this.#pending) {
      const { worker_id } = pending.request.worker;
      if (batch.has(worker_id) || batch.size === MAX_BATCH) later.push(pending);
      else batch.set(worker_id, pending);
    }
    this.#pending = later;
    if (later.length > 0) this.#schedule(this.#recordedAt);
    void this.#record([...batch.values()]);
  }

  async #record(batch: Pending[]) {
    let recorded = new Map<string, Renewal>();
    try {
      const requests = batch.map(({ request }) => request);
      recorded = await recordHeartbeats(this.#db, requests, this.#leaseMs);
    } catch (error) {
      if (isUnreachable(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
    }
    for (const pending of batch) {
      const renewal = recorded.get(pending.request.worker.worker_id);
      if (renewal) pending.resolve(renewal);
      else this.#recordOne(pending.request).then(pending.resolve, pending.reject);
    }
  }

  async #recordOne({ worker, executions, stats }: HeartbeatRequest): Promise<Renewal> {
    const draining = await recordWorker(this.#db, worker, stats);
    const leases = { workerId: worker.worker_id, executions, leaseMs: this.#leaseMs };
    return { held: await renewLeases(this.#db, leases), draining };
  }
}
