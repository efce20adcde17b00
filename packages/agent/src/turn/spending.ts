import type { ModelPrices } from "@outrider/contract/model";
import type { RunUsage } from "@outrider/contract/run";
import { addCall, addTokens, type CallTokens, costToReserve } from "./usage.ts";

/** A budget that the run shares with other runs. Several reservations can be open at a time. */
export interface SharedBudget {
  /**
   * Reserves dollars for a call and reports the run's total cost so far. Returns the reservation, or the reason if the
   * call must not be made. Rejects in the same cases as `emit`.
   */
  reserve(usd: number, cost_usd: number): Promise<Reservation | string>;
}

export interface Reservation {
  /** Releases the reservation after the call and reports the run's total cost. */
  settle(cost_usd: number): void;
}

export interface SpendingOptions {
  /** The run's usage so far, including earlier attempts of this turn. */
  usage: RunUsage;
  prices: ModelPrices | undefined;
  budget: SharedBudget | undefined;
  maxOutputTokens: number | undefined;
}

/** Tracks a run's usage call by call and reserves the likely cost of its next call. */
export class Spending {
  usage: RunUsage;
  lastCall: CallTokens | undefined;
  readonly prices: ModelPrices | undefined;
  readonly #budget: SharedBudget | undefined;
  #reservation: Reservation | undefined;
  readonly #maxOutputTokens: number | undefined;
  readonly #secondsBefore: number;
  readonly #startedAt = performance.now();

  constructor({ usage, prices, budget, maxOutputTokens }: SpendingOptions) {
    this.usage = usage;
    this.prices = prices;
    this.#budget = budget;
    this.#maxOutputTokens = maxOutputTokens;
    this.#secondsBefore = usage.run_seconds;
  }

  /** Adds a failed attempt at a call that will be retried. */
  addAttempt(tokens: CallTokens) {
    this.usage = addTokens(this.usage, tokens, this.prices);
  }

  /** Adds a completed call, whatever its result. */
  addCall(tokens: CallTokens): RunUsage {
    const seconds = this.#secondsBefore + (performance.now() - this.#startedAt) / 1000;
    const run_seconds = Math.round(seconds * 1000) / 1000;
    this.usage = { ...addCall(this.usage, tokens, this.prices), run_seconds };
    return this.usage;
  }

  /** Reserves a call's cost in the shared budget. Returns the reason if the call must not be made. */
  async reserve(inputTokens: number): Promise<string | undefined> {
    if (!this.#budget || !this.prices) return undefined;
    const lastOutput = this.lastCall?.output ?? 0;
    const usd = costToReserve(
      { input: inputTokens, lastOutput, maxOutput: this.#maxOutputTokens },
      this.prices,
    );
    // A free call needs no reservation.
    if (usd === 0) return undefined;
    // A summary that turned out not to be needed leaves its reservation behind.
    this.settle();
    const reserved = await this.#budget.reserve(usd, this.usage.cost_usd);
    if (typeof reserved === "string") return reserved;
    this.#reservation = reserved;
    return undefined;
  }

  /** Releases the reservation. Call this after the usage has been emitted. */
  settle() {
    this.#reservation?.settle(this.usage.cost_usd);
    this.#reservation = undefined;
  }
}
