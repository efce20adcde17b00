import type { PoolDemand } from "@outrider/contract/worker-pool";
import type { Db } from "../../store/connection/db.ts";
import { ACTIVE_READS_PER_SECOND } from "../../store/dispatch/active-runs.ts";
import { type Demand, findDemand } from "../../store/dispatch/demand.ts";
import { ALIVE_MS } from "../runs/run-policy.ts";

/** Any member can name a pool, so the number of pools that responses and metrics contain is limited. */
const MAX_POOLS = 100;

/**
 * Reads the demand for workers. All requests and metrics of a server share what was read, for longer the more runs there were:
 * not at all for few runs, and for 10 s with 160,000.
 */
export class DemandReader {
  readonly #db: Db;
  #last: { demand: Promise<Demand>; expiresAt: number } | undefined;

  constructor(db: Db) {
    this.#db = db;
  }

  read(): Promise<Demand> {
    if (this.#last && performance.now() < this.#last.expiresAt) return this.#last.demand;
    const last = { demand: findDemand(this.#db, ALIVE_MS), expiresAt: Number.POSITIVE_INFINITY };
    this.#last = last;
    last.demand.then(
      ({ pools }) => {
        const runs = pools.reduce((sum, { queued, running }) => sum + queued + running, 0);
        last.expiresAt = performance.now() + (1_000 * runs) / ACTIVE_READS_PER_SECOND;
      },
      () => {
        last.expiresAt = 0;
      },
    );
    return last.demand;
  }

  /** Returns the pools with connected workers or open runs, and the default pool; those with workers first. */
  async listPools(): Promise<PoolDemand[]> {
    return (await this.read()).pools.slice(0, MAX_POOLS);
  }

  /** Returns a pool, also if it has neither runs nor workers. */
  async findPool(pool: string): Promise<PoolDemand> {
    const none = { queued: 0, running: 0, workers: 0, slots: 0, free: 0, oldest_wait_seconds: 0 };
    return (await this.read()).pools.find((known) => known.pool === pool) ?? { pool, ...none };
  }
}
