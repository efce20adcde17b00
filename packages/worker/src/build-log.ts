import type { NewBuildEvent } from "@outrider/contract/build";
import type { BuildOutcome } from "@outrider/contract/worker";
import type { Redactor } from "./redact.ts";
import type { Server } from "./server.ts";

const FLUSH_MS = 200;
const BATCH_EVENTS = 500;

/** What a worker holds while it makes a build. */
export interface BuildLease {
  build_id: string;
  token: string;
  lease_ms: number;
}

interface BuildLogOptions {
  server: Server;
  lease: BuildLease;
  redactor: Redactor;
  signal: AbortSignal;
  /** Who makes it may go on until then. */
  extended(until: bigint): void;
}

/** The one way from who makes a build to its log: numbered batches, redacted, which also extend the lease. */
export class BuildLog {
  private readonly options: BuildLogOptions;
  private readonly lost = new AbortController();
  private pending: NewBuildEvent[] = [];
  private batch = 0;
  private sending: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private readonly ticker: NodeJS.Timeout;
  /** Aborts when the build is no longer ours to make. */
  readonly signal: AbortSignal;

  constructor(options: BuildLogOptions) {
    this.options = options;
    this.signal = AbortSignal.any([options.signal, this.lost.signal]);
    this.ticker = setInterval(() => this.send(), Math.max(100, options.lease.lease_ms / 6));
  }

  write(event: NewBuildEvent) {
    this.pending.push(this.options.redactor.all(event));
    this.timer ??= setTimeout(() => this.send(), FLUSH_MS);
  }

  async finish(outcome: BuildOutcome): Promise<void> {
    this.stop();
    await this.sending;
    while (this.pending.length > BATCH_EVENTS) await this.report();
    const { server, lease, redactor } = this.options;
    this.batch += 1;
    const body = {
      token: lease.token,
      batch: this.batch,
      events: this.take(),
      outcome: redactor.all(outcome),
    };
    // Even where the run is cancelled: whoever waits for the build has to know.
    await server.finishBuild(lease.build_id, body, AbortSignal.timeout(lease.lease_ms));
  }

  stop() {
    clearInterval(this.ticker);
    clearTimeout(this.timer);
  }

  private send() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.sending = this.sending
      .then(() => this.report())
      .catch((error) => {
        this.stop();
        this.lost.abort(error);
      });
  }

  private async report() {
    const { server, lease, extended } = this.options;
    this.batch += 1;
    const sentAt = process.hrtime.bigint();
    const body = { token: lease.token, batch: this.batch, events: this.take() };
    await server.reportBuild(lease.build_id, body, this.signal);
    extended(sentAt + BigInt(lease.lease_ms) * 1_000_000n);
  }

  private take(): NewBuildEvent[] {
    return this.pending.splice(0, BATCH_EVENTS);
  }
}
