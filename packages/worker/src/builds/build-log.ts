import type { NewBuildEvent } from "@outrider/contract/build";
import type { BuildOutcome } from "@outrider/contract/worker/build";
import type { Redactor } from "../redaction/redact.ts";
import { Lease } from "../run/lease.ts";
import { toStorableFields } from "../run/storable-fields.ts";
import { type Batch, EventBatches } from "../server-client/event-batches.ts";
import type { ServerClient } from "../server-client/server-client.ts";

const FLUSH_MS = 200;
const REPORTS_PER_LEASE = 6;
const MIN_INTERVAL_MS = 100;

/** The right to make a build, granted by the server. */
export interface BuildLease {
  build_id: string;
  token: string;
  lease_ms: number;
}

interface BuildLogOptions {
  server: ServerClient;
  lease: BuildLease;
  redactor: Redactor;
  signal: AbortSignal;
  /** Called with the new deadline after each successful report. */
  onExtended(deadline: bigint): void;
}

/**
 * Sends a build's log to the server in redacted batches. Each batch also renews the lease, so batches are sent
 * regularly even without events. If a batch fails for good, the lease is lost.
 */
export class BuildLog {
  readonly #options: BuildLogOptions;
  readonly #lease: Lease;
  readonly #batches = new EventBatches<NewBuildEvent>({ delayMs: FLUSH_MS, flush: () => this.#flush() });
  readonly #interval: NodeJS.Timeout;
  /** Aborts when the lease is lost or the caller stops the build. */
  readonly signal: AbortSignal;

  constructor(options: BuildLogOptions) {
    const { lease, signal, onExtended } = options;
    this.#options = options;
    this.#lease = new Lease({ sentAt: process.hrtime.bigint(), durationMs: lease.lease_ms, onExtended });
    this.signal = AbortSignal.any([signal, this.#lease.signal]);
    const intervalMs = Math.max(MIN_INTERVAL_MS, lease.lease_ms / REPORTS_PER_LEASE);
    this.#interval = setInterval(() => void this.#flush(), intervalMs);
  }

  get deadline(): bigint {
    return this.#lease.deadline;
  }

  write(event: NewBuildEvent) {
    this.#batches.add({ ...event, data: this.#toStored(event.data) } as NewBuildEvent);
  }

  /**
   * Sends the outcome, even if reports fail or the run is cancelled, because other runs may be waiting for the build.
   */
  async finish(outcome: BuildOutcome): Promise<void> {
    this.stop();
    const { server, lease } = this.#options;
    const { type, ...result } = outcome;
    const report = (batch: Batch<NewBuildEvent>) => this.#report(batch);
    await this.#batches.inOrder(() => this.#batches.sendExcess(report)).catch(() => {});
    const stored = { type, ...this.#toStored(result) } as BuildOutcome;
    const body = { token: lease.token, ...this.#batches.take(), outcome: stored };
    await server.finishBuild(lease.build_id, body, AbortSignal.timeout(lease.lease_ms));
  }

  /** Says why this attempt ends, and leaves the build to whoever claims it after the lease has expired. */
  async abandon(message: string): Promise<void> {
    this.write({ type: "notice", data: { message } });
    await this.#flush();
    this.stop();
  }

  stop() {
    clearInterval(this.#interval);
    this.#batches.stop();
    this.#lease.release();
  }

  /** Commands print any bytes, and the server would reject some of them. */
  #toStored<T extends object>(fields: T): T {
    return toStorableFields(fields, (text) => this.#options.redactor.redact(text));
  }

  async #flush(): Promise<void> {
    const report = (batch: Batch<NewBuildEvent>) => this.#report(batch);
    try {
      await this.#batches.inOrder(async () => {
        await this.#batches.sendExcess(report);
        await report(this.#batches.take());
      });
    } catch (error) {
      this.stop();
      this.#lease.markLost(error instanceof Error ? error.message : String(error));
    }
  }

  async #report(batch: Batch<NewBuildEvent>): Promise<void> {
    const { server, lease } = this.#options;
    const sentAt = process.hrtime.bigint();
    await server.reportBuild(lease.build_id, { token: lease.token, ...batch }, this.signal);
    this.#lease.extend(sentAt);
  }
}
