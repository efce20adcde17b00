import type { DeltaPiece } from "./delta-batches.ts";

/** How long later deltas wait for a missing one. */
const GAP_MS = 250;

/**
 * Restores the order of a run's deltas. They overtake each other if the worker sends them to several servers. If a
 * delta is lost, the following ones continue without it after GAP_MS, and it is ignored if it still arrives.
 */
export class DeltaOrder {
  readonly #emit: (text: string) => void;
  #executionId: string | undefined;
  #next: number | undefined;
  #held: DeltaPiece[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(emit: (text: string) => void) {
    this.#emit = emit;
  }

  add(piece: DeltaPiece) {
    if (piece.index === undefined) return this.#emit(piece.text);
    if (piece.executionId !== this.#executionId) this.#startExecution(piece.executionId);
    // A reader that has just connected starts with the first delta that it receives.
    this.#next ??= piece.index;
    if (piece.index < this.#next) return;
    this.#held.push(piece);
    this.#release();
  }

  close() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #startExecution(executionId: string) {
    this.close();
    this.#executionId = executionId;
    this.#next = undefined;
    this.#held = [];
  }

  /** Emits the deltas that come next, and waits if others are left. */
  #release() {
    for (;;) {
      const found = this.#held.findIndex(({ index }) => index === this.#next);
      if (found === -1) break;
      const [piece] = this.#held.splice(found, 1) as [DeltaPiece];
      this.#next = (this.#next as number) + piece.count;
      this.#emit(piece.text);
    }
    if (this.#held.length === 0) this.close();
    else this.#timer ??= setTimeout(() => this.#skipGap(), GAP_MS);
  }

  #skipGap() {
    this.#timer = undefined;
    this.#next = Math.min(...this.#held.map(({ index }) => index as number));
    this.#release();
  }
}
