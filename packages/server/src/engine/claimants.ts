import type { ClaimRequest } from "@outrider/contract/worker";
import type { Work } from "../store/claims.ts";

/** A claim that waits for something to do. */
export interface Claimant {
  request: ClaimRequest;
  /** Must be called once, after the transaction: with what it took for the claim, or with nothing. */
  settle(work: Work[]): void;
}

/** A claim's offer to be taken along. */
export interface Offer {
  /** Resolves when somebody has taken it up and is through with it. */
  settled: Promise<unknown>;
  /** Takes the offer back, and answers what came of it. Who has taken it up meanwhile is waited for. */
  end(): Promise<Work[]>;
}

/**
 * The claims that wait on this server. Who creates a run takes one of them along: run and claim are then one transaction,
 * and the run is at its worker when its creator hears of it. It saves time and nothing else: a run that was created
 * without, or on another server, is found by the claim's own look.
 */
export class Claimants {
  private readonly waiting = new Set<Claimant>();

  offer(request: ClaimRequest): Offer {
    const { promise, resolve } = Promise.withResolvers<Work[]>();
    const claimant = { request, settle: resolve };
    this.waiting.add(claimant);
    const end = () => {
      if (this.waiting.delete(claimant)) resolve([]);
      return promise;
    };
    return { settled: promise, end };
  }

  get count(): number {
    return this.waiting.size;
  }

  /** The one that waits longest. */
  take(): Claimant | undefined {
    const [first] = this.waiting;
    if (first) this.waiting.delete(first);
    return first;
  }
}
