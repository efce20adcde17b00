import { randomUUID } from "node:crypto";
import type { SharedBudget } from "@outrider/agent/ledger";
import type { Assignment } from "@outrider/contract/worker";
import type { Server } from "./server.ts";

/** The day's dollars of a run's key and of the installation: asked for before each model call, settled after it. */
export class Budget implements SharedBudget {
  private readonly server: Server;
  private readonly assignment: Assignment;
  private readonly signal: AbortSignal;
  private isLimited = true;
  private reservation: string | undefined;
  private settling: Promise<void> = Promise.resolve();

  constructor(options: { server: Server; assignment: Assignment; signal: AbortSignal }) {
    this.server = options.server;
    this.assignment = options.assignment;
    this.signal = options.signal;
  }

  async reserve(usd: number, cost_usd: number): Promise<string | undefined> {
    if (!this.isLimited) return undefined;
    await this.settling;
    const { execution_id, run_id } = this.assignment;
    const reservation_id = randomUUID();
    const body = { run_id, reservation_id, cost_usd, usd };
    const { is_limited, refusal } = await this.server.reserve(execution_id, body, this.signal);
    this.isLimited = is_limited;
    if (is_limited && refusal === undefined) this.reservation = reservation_id;
    return refusal;
  }

  /** Nobody waits for it but the next reservation and the end. Where it fails, what was reserved stays spent. */
  settle(cost_usd: number): void {
    const { reservation: reservation_id } = this;
    if (reservation_id === undefined) return;
    this.reservation = undefined;
    const { execution_id, run_id } = this.assignment;
    const body = { run_id, reservation_id, cost_usd };
    this.settling = this.server.settle(execution_id, body, this.signal).catch(() => {});
  }

  /** Resolves when everything is settled. */
  settled(): Promise<void> {
    return this.settling;
  }
}
