/** Calls a task at an interval or when triggered. Calls never overlap: a tick is skipped while the previous call is running. */
export interface Ticker {
  /** Calls the task now, or once more after the current call. */
  trigger(): void;
  /** Stops repeating and waits for the current call. */
  stop(): Promise<void>;
}

export interface TickerOptions {
  /** Without it, the task is called only when triggered. */
  everyMs?: number;
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

  const tick = () => {
    if (!current) start();
  };
  const timer = everyMs === undefined ? undefined : setInterval(tick, everyMs).unref();

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
