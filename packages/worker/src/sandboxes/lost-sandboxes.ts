import type { Log } from "../log.ts";
import type { SandboxProvider } from "./sandbox.ts";

/** Nothing runs in what is removed, so it can wait. */
const intervalMs = 5 * 60_000;

interface LostSandboxesOptions {
  provider: Pick<SandboxProvider, "removeFinished">;
  log: Pick<Log, "warn">;
}

/**
 * Removes what lost workers have left behind, while this worker runs. `reap` is only for the start: it removes sandboxes of
 * this worker that are not open in this process, and those of isolated runs are not.
 */
export class LostSandboxes {
  readonly #options: LostSandboxesOptions;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** The reason of the last failure, until a round succeeds. */
  #failure: string | undefined;

  constructor(options: LostSandboxesOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.provider.removeFinished) this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** The next round starts some time after the end of the last. */
  #schedule(): void {
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#remove(), intervalMs).unref();
  }

  async #remove(): Promise<void> {
    const { provider, log } = this.#options;
    try {
      await provider.removeFinished?.();
      this.#failure = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#failure && !this.#isStopped)
        log.warn({ error }, "failed to remove finished sandboxes of lost workers");
      this.#failure = message;
    }
    this.#schedule();
  }
}
