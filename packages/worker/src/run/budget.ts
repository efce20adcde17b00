import { randomUUID } from "node:crypto";
import type { Reservation, SharedBudget } from "@outrider/agent/turn/spending";
import type { Assignment } from "@outrider/contract/worker";
import type { ServerClient } from "../server-client/server-client.ts";

/**
 * The daily budgets of a run's key and of the installation. The worker reserves an amount before each model call and
 * settles the actual cost afterwards. If the worker crashes in between, the reservation stays spent.
 *
 * The server has one reservation per run, and a new one replaces it. An agent can make several calls at a time, so that
 * one reservation covers all calls under way: each call reserves their sum, and it is settled with the last of them.
 */
export class Budget implements SharedBudget {
  readonly #server: ServerClient;
  readonly #assignment: Assignment;
  readonly #signal: AbortSignal;
  #isLimited = true;
  /** The amounts of the calls under way. */
  readonly #open = new Map<Reservation, number>();
  /** The run's highest reported cost. Concurrent calls can report theirs in any order. */
  #costUsd = 0;
  /** The id of the reservation on the server. */
  #reservationId: string | undefined;
  /** Requests follow each other, because each replaces the reservation of the one before. */
  #pending: Promise<unknown> = Promise.resolve();

  constructor(options: { server: ServerClient; assignment: Assignment; signal: AbortSignal }) {
    this.#server = options.server;
    this.#assignment = options.assignment;
    this.#signal = options.signal;
  }

  async reserve(usd: number, cost_usd: number): Promise<Reservation | string> {
    if (!this.#isLimited) return unlimited;
    this.#costUsd = Math.max(this.#costUsd, cost_usd);
    return this.#inOrder(async () => {
      const reservation = { settle: (cost: number) => this.#settle(reservation, cost) };
      const refusal = await this.#request(this.#openUsd + usd);
      if (refusal === undefined) {
        this.#open.set(reservation, usd);
        return reservation;
      }
      // The server has released the reservation that a refused one was to replace.
      if (this.#open.size > 0) await this.#request(this.#openUsd);
      return refusal;
    });
  }

  /** Settles in the background. The next reservation and the end of the turn wait for it. */
  #settle(reservation: Reservation, cost: number): void {
    this.#costUsd = Math.max(this.#costUsd, cost);
    if (!this.#open.delete(reservation) || this.#open.size > 0) return;
    void this.#inOrder(async () => {
      const reservation_id = this.#reservationId;
      // A call that has started in the meantime reports the cost.
      if (reservation_id === undefined || this.#open.size > 0) return;
      this.#reservationId = undefined;
      const { execution_id, run_id } = this.#assignment;
      const body = { run_id, reservation_id, cost_usd: this.#costUsd };
      await this.#server.settle(execution_id, body, this.#signal);
    }).catch(() => {});
  }

  /** Replaces the reservation on the server. Returns the reason if a budget does not allow it. */
  async #request(usd: number): Promise<string | undefined> {
    const { execution_id, run_id } = this.#assignment;
    const reservation_id = randomUUID();
    const body = { run_id, reservation_id, cost_usd: this.#costUsd, usd };
    const { is_limited, refusal } = await this.#server.reserve(execution_id, body, this.#signal);
    this.#isLimited = is_limited;
    if (is_limited && refusal === undefined) this.#reservationId = reservation_id;
    return refusal;
  }

  get #openUsd(): number {
    return [...this.#open.values()].reduce((sum, usd) => sum + usd, 0);
  }

  #inOrder<T>(request: () => Promise<T>): Promise<T> {
    const result = this.#pending.then(request);
    this.#pending = result.catch(() => {});
    return result;
  }

  /** Resolves when all settlements have completed. */
  async settled(): Promise<void> {
    await this.#pending;
  }
}

const unlimited: Reservation = { settle: () => {} };
