import type { Log } from "../sandboxes/sandbox.ts";
import { RefusedError } from "./failures.ts";
import type { Target } from "./host.ts";

export interface Refusal extends Target {
  reason: string;
}

/** More than anybody reads. A sandbox must not be able to fill a run's log with names that it made up. */
const mostTold = 100;

/** Tells of each refusal once. */
export class Refusals {
  readonly #seen = new Set<string>();
  readonly #refused: (refusal: Refusal) => void;
  readonly #log: Log;

  constructor(options: { refused(refusal: Refusal): void; log: Log }) {
    this.#refused = options.refused;
    this.#log = options.log;
  }

  note({ host, port }: Target, error: unknown): void {
    if (!(error instanceof RefusedError)) return;
    const { reason } = error.reason;
    const key = JSON.stringify([host, port, reason]);
    if (this.#seen.has(key) || this.#seen.size > mostTold) return;
    this.#seen.add(key);
    if (this.#seen.size > mostTold) this.#log.warn({ count: mostTold }, "further refusals are not told");
    else this.#refused({ host, port, reason });
  }
}
