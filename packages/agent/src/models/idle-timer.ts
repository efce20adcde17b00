/** Reuses one timer for all parts of a stream, because creating one per part would cost more than handling the part. */
export class IdleTimer {
  readonly #onIdle: (ms: number) => void;
  #timer: NodeJS.Timeout | undefined;
  #ms = 0;

  constructor(onIdle: (ms: number) => void) {
    this.#onIdle = onIdle;
  }

  start(ms: number) {
    if (ms === this.#ms) {
      this.#timer?.refresh();
      return;
    }
    this.stop();
    this.#ms = ms;
    this.#timer = setTimeout(() => this.#onIdle(ms), ms);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#ms = 0;
  }
}
