import type { Log } from "../log.ts";
import { RefusedError } from "./egress-errors.ts";
import type { Target } from "./host.ts";

export interface EgressRefusal extends Target {
  reason: string;
  /** What would allow the connection. */
  remedy: string;
}

/** Limits reports, so that a sandbox cannot flood a run's log with invented names. */
const maxReports = 100;

/** Reports each distinct refusal once. */
export class RefusalReporter {
  readonly #seen = new Set<string>();
  readonly #onRefused: (refusal: EgressRefusal) => void;
  readonly #log: Log;

  constructor(options: { onRefused(refusal: EgressRefusal): void; log: Log }) {
    this.#onRefused = options.onRefused;
    this.#log = options.log;
  }

  /** Reports the error if it is a refusal. */
  report({ host, port }: Target, error: unknown): void {
    if (!(error instanceof RefusedError)) return;
    const { reason, remedy } = error.reason;
    const key = JSON.stringify([host, port, reason]);
    if (this.#seen.has(key) || this.#seen.size > maxReports) return;
    this.#seen.add(key);
    if (this.#seen.size > maxReports) this.#log.warn({ count: maxReports }, "further refusals suppressed");
    else this.#onRefused({ host, port, reason, remedy });
  }

  /** Makes earlier refusals be reported again. */
  forget(): void {
    this.#seen.clear();
  }
}
