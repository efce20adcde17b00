import type Docker from "dockerode";
import type { Log } from "../../../log.ts";

const PING_MS = 10_000;

/** Whether an engine responds. Without one, every run that the worker claims would fail. */
export class EngineHealth {
  readonly #options: { docker: Docker; address: string; log: Log };
  #isResponding = true;

  constructor(options: { docker: Docker; address: string; log: Log }) {
    this.#options = options;
  }

  /** Asks the engine. Logs only changes. */
  async isResponding(): Promise<boolean> {
    const { docker, address, log } = this.#options;
    // The types lack its options.
    const ping: (options: { abortSignal: AbortSignal }) => Promise<unknown> = docker.ping;
    try {
      await ping.call(docker, { abortSignal: AbortSignal.timeout(PING_MS) });
      if (!this.#isResponding)
        log.info({ engine: address }, "container engine responds again, accepting new runs");
      this.#isResponding = true;
    } catch (error) {
      if (this.#isResponding)
        log.warn({ engine: address, error }, "container engine does not respond, not accepting new runs");
      this.#isResponding = false;
    }
    return this.#isResponding;
  }
}
