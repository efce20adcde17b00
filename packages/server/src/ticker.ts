/** Repeats a task at an interval. Calls never overlap: a tick is skipped while the previous call is running. */
export interface Ticker {
  /** Calls the task now, or once more after the current call. */
  trigger(): void;
  /** Stops repeating and waits for the current call. */
  stop(): Promise<void>;
}

export interface TickerOptions {
  everyMs: number;
  task(): unknown;
  /** Called if the task throws or rejects. The ticker continues. */
  onError?(error: unknown): void;
}

/** Starts a ticker. The first call happens after `everyMs`. A ticker does not keep the process alive. */
export function startTicker({ everyMs, task, onError = () => {} }: TickerOptions): Ticker {
  let current: Promise<void> | undefined;
  let isRequested = false;
  let isStopped = false;

  async function run() {
    try {
      await task();
    } catch (error) {
      onError(error);
    }
  }

  function start() {
    isRequested = false;
    current = run().then(() => {
      current = undefined;
      if (isRequested && !isStopped) start();
    });
  }

  const timer = setInterval(() => {
    if (!current) start();
  }, everyMs).unref();

  return {
    trigger() {
      if (current) isRequested = true;
      else if (!isStopped) start();
    },
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await current;
    },
  };
}
