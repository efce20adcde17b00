import { randomUUID } from "node:crypto";
import type { SharedBudget } from "@outrider/agent/turn/spending";
import type { Assignment } from "@outrider/contract/worker";
import type { ServerClient } from "../server-client/server-client.ts";

/**
 * The daily budgets of a run's key and of the installation. The worker reserves an amount before each model call and
 * settles the actual cost afterwards. If the worker crashes in between, the reservation stays spent.
 */
export class Budget implements SharedBudget {
  readonly #server: ServerClient;
  readonly #assignment: Assignment;
  readonly #signal: AbortSignal;
  #isLimited = true;
  #reservation: string | undefined;
  #settling: Promise<void> = Promise.resolve();

  constructor(options: { server: ServerClient; assignment: Assignment; signal: AbortSignal }) {
    this.#server = options.server;
    this.#assignment = options.assignment;
    this.#signal = options.signal;
  }

  async reserve(usd: number, cost_usd: number): Promise<string | undefined> {
    if (!this.#isLimited) return undefined;
    await this.#settling;
    const { execution_id, run_id } = this.#assignment;
    const reservation_id = randomUUID();
    const body = { run_id, reservation_id, cost_usd, usd };
    const { is_limited, refusal } = await this.#server.reserve(execution_id, body, this.#signal);
    this.#isLimited = is_limited;
    if (is_limited && refusal === undefined) this.#reservation = reservation_id;
    return refusal;
  }

  /** Settles in the background. The next reservation and the end of the turn wait for it. */
  settle(cost_usd: number): void {
    const reservation_id = this.#reservation;
    if (reservation_id === undefined) return;
    this.#reservation = undefined;
    const { execution_id, run_id } = this.#assignment;
    const body = { run_id, reservation_id, cost_usd };
    this.#settling = this.#server.settle(execution_id, body, this.#signal).catch(() => {});
  }

  /** Resolves when all settlements have completed. */
  settled(): Promise<void> {
    return this.#settling;
  }
}
