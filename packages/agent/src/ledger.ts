import type { ModelPrices } from "@outrider/contract/model";
import type { RunUsage } from "@outrider/contract/run";
import { costAhead, type Spent, withCall, withTokens } from "./usage.ts";

export interface SharedBudget {
  /** Answers why the call must not be made, if so. Rejects as `emit` does. */
  reserve(usd: number, cost_usd: number): Promise<string | undefined>;
  /** The call is over, and the run has cost so much. */
  settle(cost_usd: number): void;
}

export interface LedgerOptions {
  /** Of the run so far, this turn's earlier attempts included. */
  usage: RunUsage;
  prices: ModelPrices | undefined;
  budget: SharedBudget | undefined;
  maxOutputTokens: number | undefined;
}

/** What a run has used, call by call, and what its next call may cost. */
export class Ledger {
  usage: RunUsage;
  lastCall: Spent | undefined;
  readonly prices: ModelPrices | undefined;
  private readonly budget: SharedBudget | undefined;
  private readonly maxOutputTokens: number | undefined;
  private readonly secondsBefore: number;
  private readonly began = performance.now();

  constructor({ usage, prices, budget, maxOutputTokens }: LedgerOptions) {
    this.usage = usage;
    this.prices = prices;
    this.budget = budget;
    this.maxOutputTokens = maxOutputTokens;
    this.secondsBefore = usage.run_seconds;
  }

  /** A try that failed; its call goes on with the next one. */
  tried(spent: Spent) {
    this.usage = withTokens(this.usage, spent, this.prices);
  }

  /** A call that is over, whatever came of it. */
  called(spent: Spent): RunUsage {
    const seconds = this.secondsBefore + (performance.now() - this.began) / 1000;
    const run_seconds = Math.round(seconds * 1000) / 1000;
    this.usage = { ...withCall(this.usage, spent, this.prices), run_seconds };
    return this.usage;
  }

  /** Answers why a call that reads so much must not be made, where dollars that others spend as well are used up. */
  async reserve(input: number): Promise<string | undefined> {
    if (!this.budget || !this.prices) return undefined;
    const lastOutput = this.lastCall?.output ?? 0;
    const usd = costAhead({ input, lastOutput, maxOutput: this.maxOutputTokens }, this.prices);
    // What costs nothing is nobody's to refuse.
    return usd === 0 ? undefined : this.budget.reserve(usd, this.usage.cost_usd);
  }

  /** Once the usage is written, what was set aside is free again. */
  settle() {
    this.budget?.settle(this.usage.cost_usd);
  }
}
