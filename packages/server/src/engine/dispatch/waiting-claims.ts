import type { ClaimRequest } from "@outrider/contract/worker";
import type { Work } from "../../store/dispatch/claims.ts";
import type { Requirement } from "../../store/dispatch/requirements.ts";
import { canTake, offeringOf } from "./pools.ts";

export interface WaitingClaim {
  request: ClaimRequest;
  /** Must be called exactly once, after the transaction ends, with the claimed work or an empty array. */
  settle(work: Work[]): void;
}

/** Represents a claim that a newly created run can be assigned to. */
export interface Offer {
  /** Withdraws the offer. Returns false if a transaction has already taken the claim; it then settles the claim. */
  withdraw(): boolean;
  /** False if a transaction has taken the claim. */
  isOpen(): boolean;
}

/**
 * The claims that are waiting on this server. The transaction that creates a run takes one of them and assigns the run
 * to it before committing. This is only an optimization: other runs, such as those created on another server, are found
 * by the claimer (claimer.ts).
 */
export class WaitingClaims {
  readonly #waiting = new Set<WaitingClaim>();

  /** Offers a claim. If a transaction takes it, `onSettled` is called once, with the claimed work or an empty array. */
  offer(request: ClaimRequest, onSettled: (work: Work[]) => void): Offer {
    const waitingClaim = { request, settle: onSettled };
    this.#waiting.add(waitingClaim);
    return {
      withdraw: () => this.#waiting.delete(waitingClaim),
      isOpen: () => this.#waiting.has(waitingClaim),
    };
  }

  /** Removes and returns the claim that has been waiting longest and can take the run. */
  take(requirement: Partial<Requirement> = {}): WaitingClaim | undefined {
    for (const waitingClaim of this.#waiting) {
      if (!canTake(offeringOf(waitingClaim.request), requirement)) continue;
      this.#waiting.delete(waitingClaim);
      return waitingClaim;
    }
    return undefined;
  }
}
