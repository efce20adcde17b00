import type { Signals, WorkerInfo, WorkerStats } from "@outrider/contract/worker";
import type { ActiveWork } from "./active-work.ts";
import type { Log } from "./log.ts";
import { HttpStatusError } from "./server-client/http.ts";
import type { ServerClient } from "./server-client/server-client.ts";

const DEFAULT_INTERVAL_MS = 5_000;
const MIN_INTERVAL_MS = 100;
const BEATS_PER_LEASE = 6;

interface HeartbeatOptions {
  server: ServerClient;
  worker: WorkerInfo;
  active: ActiveWork;
  /** Absent if another process of the worker reports its stats. */
  collectStats?(): Promise<WorkerStats>;
  onDraining(): void;
  /** Aborts when the worker stops talking to the server. */
  stopped: AbortSignal;
  log: Log;
}

/**
 * Renews the leases of all executions, several times per lease duration.
 *
 * A heartbeat's response is authoritative: an execution that it does not list is lost. The signal stream reports
 * changes sooner (waiting follow-ups, cancelled runs, draining), but it never ends an execution itself. If the stream
 * omits an execution, the worker sends a heartbeat at once and follows its response.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #intervalMs = DEFAULT_INTERVAL_MS;
  #inFlight: Promise<void> | undefined;
  #stats: WorkerStats | undefined;
  #isCollecting = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#schedule();
  }

  /** Adjusts the interval to the lease duration that the server grants. */
  setLeaseDuration(leaseMs: number) {
    const intervalMs = Math.max(MIN_INTERVAL_MS, leaseMs / BEATS_PER_LEASE);
    if (this.#intervalMs === intervalMs) return;
    this.#intervalMs = intervalMs;
    this.#schedule();
  }

  /** Handles a message from the server's signal stream. */
  handleSignals({ executions, draining }: Signals) {
    const { active, onDraining } = this.#options;
    const signals = new Map(executions.map((signal) => [signal.execution_id, signal]));
    const running = active.listExecutions();
    for (const execution of running) {
      const signal = signals.get(execution.assignment.execution_id);
      if (signal) execution.handleSignal(signal);
    }
    // A missing execution was cancelled, or it is newer than this message; a heartbeat determines which. A heartbeat
    // that is already in flight may be older than this message, so another one follows it.
    if (running.some(({ assignment }) => !signals.has(assignment.execution_id)))
      void Promise.resolve(this.#inFlight).then(() => this.#sendNow());
    if (draining) onDraining();
  }

  stop() {
    clearTimeout(this.#timer);
  }

  /** Schedules the next heartbeat. The interval includes the time that the last heartbeat took. */
  #schedule(elapsedMs = 0) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      async () => {
        const sentAt = performance.now();
        await this.#sendNow();
        if (!this.#options.stopped.aborted) this.#schedule(performance.now() - sentAt);
      },
      Math.max(0, this.#intervalMs - elapsedMs),
    );
  }

  /** Sends a heartbeat, or joins the one in flight. */
  #sendNow(): Promise<void> {
    const { stopped, log } = this.#options;
    this.#inFlight ??= this.#send()
      .catch((error) => {
        if (!stopped.aborted) log.warn({ error }, "failed to send heartbeat");
      })
      .finally(() => {
        this.#inFlight = undefined;
      });
    return this.#inFlight;
  }

  async #send() {
    const { server, worker, active, onDraining, stopped } = this.#options;
    const running = active.listExecutions();
    const executions = running.map(({ assignment: { run_id, execution_id } }) => ({ run_id, execution_id }));
    const stats = this.#stats;
    this.#stats = undefined;
    const sentAt = process.hrtime.bigint();
    const response = await server
      .heartbeat({ worker, executions, ...(stats ? { stats } : {}) }, stopped)
      .catch((error) => {
        if (!stats || !(error instanceof HttpStatusError && error.status === 400)) throw error;
        // During an upgrade, the request may reach a server of the previous version, which rejects the unknown `stats`
        // field.
        return server.heartbeat({ worker, executions }, stopped);
      });
    // The next heartbeat sends the stats. The one after that sends none, because every second heartbeat is often
    // enough.
    if (response.takes_stats && !stats) void this.#collectStats();
    const held = new Set(response.held);
    for (const { assignment, lease } of running) {
      if (held.has(assignment.execution_id)) lease.extend(sentAt);
      else lease.markLost("The server assigned the run to another worker, or the run ended.");
    }
    if (response.draining) onDraining();
  }

  /** Runs alongside heartbeats and never delays one, because an unresponsive disk must not cost a lease. */
  async #collectStats() {
    const { collectStats } = this.#options;
    if (this.#isCollecting || !collectStats) return;
    this.#isCollecting = true;
    try {
      this.#stats = await collectStats();
    } catch (error) {
      this.#options.log.warn({ error }, "failed to collect worker stats");
    } finally {
      this.#isCollecting = false;
    }
  }
}
