import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Assignment, Signals, WorkerInfo } from "@outrider/contract/worker";
import { Execution } from "./execute.ts";
import { Lease } from "./lease.ts";
import { openLocalProvider } from "./sandboxes/local.ts";
import { connect } from "./server.ts";

const CLAIM_WAIT_MS = 20_000;

export interface WorkerOptions {
  url: string;
  key: string;
  name: string;
  version: string;
  slots: number;
  /** Sandboxes and what waits to be sent; this worker's alone. */
  folder: string;
  /** How long a draining worker lets its runs go on before it hands them back. */
  drainMs: number;
  log: Log;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Worker {
  workerId: string;
  /** Takes nothing new, finishes or hands back what it has, then stops. */
  drain(): Promise<void>;
}

/** Claims runs and executes them, as many at once as it has slots. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { url, key, name, version, slots, folder, drainMs, log } = options;
  const server = connect({ url, key });
  const provider = await openLocalProvider({ root: join(folder, "sandboxes"), log });
  await provider.check();
  const removed = await provider.reap(() => false);
  if (removed.length > 0)
    log.info({ count: removed.length }, "removed sandboxes that an earlier worker left");

  const worker: WorkerInfo = { worker_id: randomUUID(), name, version, slots };
  const active = new Map<string, { execution: Execution; done: Promise<void> }>();
  const stopping = new AbortController();
  const handingBack = new AbortController();
  const stopped = new AbortController();
  let heartbeatMs = 5_000;
  let beating: Promise<void> | undefined;
  let freed = Promise.withResolvers<void>();

  function begin(assignment: Assignment, sentAt: bigint) {
    const everyMs = Math.max(100, assignment.lease_ms / 6);
    if (heartbeatMs !== everyMs) {
      heartbeatMs = everyMs;
      tick();
    }
    const lease = new Lease({
      sentAt,
      durationMs: assignment.lease_ms,
      extended: (deadline) => active.get(assignment.execution_id)?.execution.extendDeadline(deadline),
    });
    const execution = new Execution({
      assignment,
      server,
      provider,
      folder,
      lease,
      drain: handingBack.signal,
    });
    const done = execution
      .run()
      .catch((error) => log.error({ error, run_id: assignment.run_id }, "an execution failed"))
      .finally(() => {
        active.delete(assignment.execution_id);
        freed.resolve();
        freed = Promise.withResolvers();
      });
    active.set(assignment.execution_id, { execution, done });
  }

  /** Leases count from when a request was sent, and a claim may have waited long: then another request is their start. */
  async function beginAll(executions: Assignment[], claimedAt: bigint) {
    const shortest = Math.min(...executions.map(({ lease_ms }) => lease_ms));
    const sentAt = process.hrtime.bigint();
    if (Number(sentAt - claimedAt) / 1e6 < shortest / 2) {
      for (const assignment of executions) begin(assignment, claimedAt);
      return;
    }
    const ids = executions.map(({ run_id, execution_id }) => ({ run_id, execution_id }));
    const { held } = await server.heartbeat({ worker, executions: ids }, stopped.signal);
    for (const one of executions) if (held.includes(one.execution_id)) begin(one, sentAt);
  }

  async function claimLoop() {
    for (let request_id = randomUUID(); !stopping.signal.aborted; ) {
      const free = slots - active.size;
      if (free <= 0) {
        await Promise.race([freed.promise, aborted(stopping.signal)]);
        continue;
      }
      try {
        const sentAt = process.hrtime.bigint();
        const { executions, draining } = await server.claim(
          { request_id, worker, free, wait_ms: CLAIM_WAIT_MS },
          stopping.signal,
        );
        request_id = randomUUID();
        if (executions.length > 0) await beginAll(executions, sentAt);
        if (draining) stopping.abort();
      } catch (error) {
        if (!stopping.signal.aborted) log.warn({ error }, "cannot claim");
      }
    }
  }

  /** The server's answer is its word on every lease: what it does not name is lost. */
  async function beat() {
    const held = [...active.values()].map(({ execution }) => execution);
    const executions = held.map(({ assignment: { run_id, execution_id } }) => ({ run_id, execution_id }));
    const sentAt = process.hrtime.bigint();
    const answer = await server.heartbeat({ worker, executions }, stopped.signal);
    const still = new Set(answer.held);
    for (const { assignment, lease } of held) {
      if (still.has(assignment.execution_id)) lease.extend(sentAt);
      else lease.lose("The server has given the run to somebody else, or it has ended.");
    }
    if (answer.draining) stopping.abort();
  }

  function beatSoon(): Promise<void> {
    beating ??= beat()
      .catch((error) => {
        if (!stopped.signal.aborted) log.warn({ error }, "cannot reach the server");
      })
      .finally(() => {
        beating = undefined;
      });
    return beating;
  }

  function heard({ executions, draining }: Signals) {
    const known = new Map(executions.map((one) => [one.execution_id, one]));
    for (const [id, { execution }] of active) {
      const signal = known.get(id);
      if (signal) execution.heard(signal);
    }
    // A run that is missing here was cancelled, or is too new for this word: the heartbeat's answer tells which.
    // An answer that is on its way may be older than this word.
    if ([...active.keys()].some((id) => !known.has(id))) void Promise.resolve(beating).then(beatSoon);
    if (draining) stopping.abort();
  }

  let ticker: NodeJS.Timeout | undefined;
  /** What a slow answer took has passed of the lease that it brought. */
  function tick(passedMs = 0) {
    clearTimeout(ticker);
    ticker = setTimeout(
      async () => {
        const began = performance.now();
        await beatSoon();
        if (!stopped.signal.aborted) tick(performance.now() - began);
      },
      Math.max(0, heartbeatMs - passedMs),
    );
  }
  tick();
  const listening = server.signals(worker.worker_id, heard, stopped.signal);
  const claiming = claimLoop();

  return {
    workerId: worker.worker_id,
    async drain() {
      stopping.abort();
      const timer = setTimeout(() => handingBack.abort(), drainMs);
      await claiming;
      await Promise.all([...active.values()].map(({ done }) => done));
      clearTimeout(timer);
      clearTimeout(ticker);
      stopped.abort();
      await listening;
      await provider.stop();
      server.stop();
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
