import type { DeliveredFollowup } from "@outrider/contract/worker";

/**
 * Interrupts the agent's current step when a follow-up with mode `interrupt` is waiting on the server.
 *
 * Signals and deliveries arrive independently: a signal may name a follow-up that has been delivered or withdrawn in
 * the meantime. Delivered ids are remembered, so that a late signal does not interrupt the step that handles the
 * follow-up.
 */
export class Interrupts {
  #controller = new AbortController();
  readonly #delivered = new Set<string>();
  #waiting: string[] = [];

  /** Aborted while an interrupting follow-up is pending. Each delivery creates a new signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Handles the interrupting follow-ups that a signal names. */
  setWaiting(followupIds: string[]) {
    this.#waiting = followupIds.filter((id) => !this.#delivered.has(id));
    if (this.#waiting.length > 0) this.#controller.abort();
  }

  /**
   * Records which follow-ups the server delivered. An id that arrived in a signal after the request was sent is still
   * waiting. If the server delivered nothing and no follow-ups are waiting, the interrupting follow-up was withdrawn.
   */
  noteDelivered(followups: DeliveredFollowup[], { hasWaiting }: { hasWaiting: boolean }) {
    for (const { followup_id } of followups) this.#delivered.add(followup_id);
    if (!this.#controller.signal.aborted) return;
    this.#controller = new AbortController();
    const isWithdrawn = followups.length === 0 && !hasWaiting;
    this.#waiting = isWithdrawn ? [] : this.#waiting.filter((id) => !this.#delivered.has(id));
    if (this.#waiting.length > 0) this.#controller.abort();
  }
}
