import { type Transferable, Worker } from "node:worker_threads";

interface JobThreadsOptions {
  /** A program that calls `serveJobs` (see serve-jobs.ts). */
  program: URL;
  /** How long a job may take. The start of a thread does not count. */
  maxMs: number;
  /**
   * How much memory a thread may use. This is only a safety net, because V8 can abort the process instead of the thread
   * when it reaches the limit quickly.
   */
  heapMb: number;
}

export type JobOutcome<Result> =
  | { type: "done"; result: Result }
  | { type: "timed_out"; seconds: number }
  | { type: "failed"; message: string };

/**
 * Runs jobs on foreign data in threads, because such a job can block, and the thread that sends heartbeats must never
 * block. Simultaneous jobs use a thread each, so that a slow one delays no other. The thread of a job that takes too long
 * is terminated.
 */
export class JobThreads<Job, Result> {
  readonly #options: JobThreadsOptions;
  /** Starting a thread takes longer than most jobs, so one thread is kept for the next job. */
  #idleThread: Worker | undefined;

  constructor(options: JobThreadsOptions) {
    this.#options = options;
  }

  /** Runs a job. Rejects only when the signal aborts. */
  async run(
    job: Job,
    { transfer = [], signal }: { transfer?: Transferable[]; signal?: AbortSignal } = {},
  ): Promise<JobOutcome<Result>> {
    signal?.throwIfAborted();
    const thread = this.#take();
    let isReusable = false;
    try {
      const running = this.#runIn(thread, signal);
      thread.postMessage(job, transfer);
      const outcome = await running;
      isReusable = outcome.type === "done";
      return outcome;
    } finally {
      if (isReusable) this.#keep(thread);
      else void thread.terminate();
    }
  }

  #take(): Worker {
    const thread = this.#idleThread ?? this.#start();
    this.#idleThread = undefined;
    thread.ref();
    return thread;
  }

  #keep(thread: Worker) {
    if (this.#idleThread) return void thread.terminate();
    // An idle thread must not keep the process running.
    thread.unref();
    this.#idleThread = thread;
  }

  #start(): Worker {
    const { program, heapMb } = this.#options;
    const thread = new Worker(program, { env: {}, resourceLimits: { maxOldGenerationSizeMb: heapMb } });
    thread.on("exit", () => {
      if (this.#idleThread === thread) this.#idleThread = undefined;
    });
    // Without a listener, an error of an idle thread would end the process.
    return thread.on("error", () => {});
  }

  async #runIn(thread: Worker, signal: AbortSignal | undefined): Promise<JobOutcome<Result>> {
    const { maxMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<JobOutcome<Result>>();
    let timer: NodeJS.Timeout | undefined;
    const onMessage = (message: "started" | { result: Result }) => {
      if (message !== "started") return resolve({ type: "done", ...message });
      timer = setTimeout(() => resolve({ type: "timed_out", seconds: maxMs / 1000 }), maxMs);
    };
    const onError = ({ message }: Error) => resolve({ type: "failed", message });
    const onExit = () => resolve({ type: "failed", message: "The thread exited." });
    const onAbort = () => reject(signal?.reason);
    thread.on("message", onMessage).on("error", onError).on("exit", onExit);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      thread.off("message", onMessage).off("error", onError).off("exit", onExit);
      signal?.removeEventListener("abort", onAbort);
    }
  }
}
