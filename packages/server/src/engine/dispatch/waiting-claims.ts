import type { ClaimRequest } from "@outrider/contract/worker";
import type { Work } from "../../store/dispatch/claims.ts";

export interface WaitingClaim {
  request: ClaimRequest;
  /** Must be called exactly once, after the transaction ends, with the claimed work or an empty array. */
  settle(work: Work[]): void;
}

/** Represents a claim that a newly created run can be assigned to. */
export interface Offer {
  /** Resolves when a transaction that took the claim has settled it. */
  settled: Promise<unknown>;
  /** Withdraws the offer. If a transaction has already taken the claim, waits for it and returns the claimed work. */
  end(): Promise<Work[]>;
}

/**
 * The claims that are waiting on this server. The transaction that creates a run takes one of them and assigns the run
 * to it before committing. This is only an optimization: other runs, such as those created on another server, are found
 * when the claim polls again.
 */
export class WaitingClaims {
  readonly #waiting = new Set<WaitingClaim>();

  offer(request: ClaimRequest): Offer {
    const { promise, resolve } = Promise.withResolvers<Work[]>();
    const waitingClaim = { request, settle: resolve };
    this.#waiting.add(waitingClaim);
    const end = () => {
      if (this.#waiting.delete(waitingClaim)) resolve([]);
      return promise;
    };
    return { settled: promise, end };
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Removes and returns the claim that has been waiting longest and can take the run. */
  take({ needsHarness = false } = {}): WaitingClaim | undefined {
    const first = [...this.#waiting].find(({ request }) => !needsHarness || request.takes_harnesses);
    if (first) this.#waiting.delete(first);
    return first;
  }
}
