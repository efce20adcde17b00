import type { NewArtifact } from "@outrider/contract/artifact";
import type { NewEvent } from "@outrider/contract/event";
import type { RunReceipt, RunUsage } from "@outrider/contract/run";
import type {
  Assignment,
  DeliveredFollowup,
  FinishResponse,
  Snapshot,
  TurnOutcome,
} from "@outrider/contract/worker";
import type { Redactor } from "./redact.ts";
import type { Server } from "./server.ts";

const FLUSH_MS = 40;
const BATCH_EVENTS = 500;
const BATCH_BYTES = 512 * 1024;
/**
 * A run is promised that a message is seen before the next model call, whether its signal has come or not: so messages are
 * asked for before each one. A claim has delivered all that waited; what the first call would ask so soon after it is known.
 */
const FRESH_CLAIM_MS = 100;

/** What must stand in the log before it is done: a crash in between must not make it look as if it had never begun. */
const before = new Set<NewEvent["type"]>(["command.started", "tool.called"]);

/** What a report can carry besides events. */
interface Extra {
  snapshot?: Snapshot;
  artifacts?: NewArtifact[];
}

/** The one way from an execution to its run's log: numbered batches, one after the other, redacted. */
export class Reporter {
  private readonly server: Server;
  private readonly assignment: Assignment;
  private readonly redactor: Redactor;
  private readonly signal: AbortSignal;
  private pending: NewEvent[] = [];
  private receipt: RunReceipt | undefined;
  private batch = 0;
  private sending: Promise<unknown> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private claimed: number | undefined = performance.now();
  private failure: unknown;
  /** What reports say that the run is at. */
  phase: "preparing" | "working" = "preparing";
  lastSeq = 0;
  usage: RunUsage;
  /** Set by the worker's stream of signals. */
  waiting = false;

  constructor(options: { server: Server; assignment: Assignment; redactor: Redactor; signal: AbortSignal }) {
    this.server = options.server;
    this.assignment = options.assignment;
    this.redactor = options.redactor;
    this.signal = options.signal;
    this.usage = options.assignment.usage;
    this.lastSeq = options.assignment.history.at(-1)?.seq ?? 0;
  }

  async emit(event: NewEvent): Promise<void> {
    if (this.failure) throw this.failure;
    if (event.type === "usage.updated") this.usage = event.data;
    this.pending.push(this.redactor.all(event));
    if (before.has(event.type) || this.pending.length >= BATCH_EVENTS) return this.flush();
    this.flushSoon();
  }

  /** It travels with the next batch, be that the end. */
  keepReceipt(receipt: RunReceipt) {
    this.receipt = receipt;
    this.flushSoon();
  }

  private flushSoon() {
    this.timer ??= setTimeout(() => {
      this.flush().catch(() => {});
    }, FLUSH_MS);
  }

  async flush(extra: Extra = {}): Promise<void> {
    await this.send({ deliver: false, ...extra });
  }

  /** Writes what is pending and answers what was sent to the run meanwhile. */
  async takeFollowups(): Promise<DeliveredFollowup[]> {
    const { claimed, waiting } = this;
    this.claimed = undefined;
    this.waiting = false;
    if (claimed !== undefined && !waiting && performance.now() - claimed < FRESH_CLAIM_MS) return [];
    return this.send({ deliver: true });
  }

  async finish(
    outcome: TurnOutcome,
    { snapshot, keeps_minutes }: { snapshot?: Snapshot | undefined; keeps_minutes?: number | undefined } = {},
  ): Promise<FinishResponse> {
    return this.inTurn(async () => {
      await this.sendExcess();
      const body = {
        ...this.nextBatch(),
        outcome: this.redactor.all(outcome),
        ...(snapshot ? { snapshot } : {}),
        ...(keeps_minutes ? { keeps_minutes } : {}),
      };
      return this.server.finish(this.assignment.execution_id, body as never, this.signal);
    });
  }

  private send(options: Extra & { deliver: boolean }): Promise<DeliveredFollowup[]> {
    return this.inTurn(async () => {
      const { deliver, ...extra } = options;
      const isEmpty = this.pending.length === 0 && this.receipt === undefined;
      if (isEmpty && !deliver && Object.keys(extra).length === 0) return [];
      await this.sendExcess();
      return this.sendOne(options);
    });
  }

  /** What one batch cannot hold goes ahead, so that nothing of it is left when the batch is written. */
  private async sendExcess() {
    while (this.pending.length > BATCH_EVENTS || sizeOf(this.pending) > BATCH_BYTES) {
      await this.sendOne({ deliver: false });
    }
  }

  private async sendOne(options: Extra & { deliver: boolean }): Promise<DeliveredFollowup[]> {
    const body = { ...this.nextBatch(), ...options };
    const { execution_id } = this.assignment;
    const { last_seq, followups } = await this.server.report(execution_id, body as never, this.signal);
    this.lastSeq = last_seq;
    return followups;
  }

  /** One batch at a time: the server takes them in order. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.sending.then(() => {
      if (this.failure) throw this.failure;
      return work();
    });
    this.sending = result.catch((error) => {
      this.failure = error;
    });
    return result;
  }

  private nextBatch() {
    this.batch += 1;
    const { run_id } = this.assignment;
    return { run_id, batch: this.batch, ...this.take(), usage: this.usage, phase: this.phase };
  }

  private take(): { events: NewEvent[]; receipt?: RunReceipt } {
    clearTimeout(this.timer);
    this.timer = undefined;
    let bytes = 0;
    let count = 0;
    for (const event of this.pending.slice(0, BATCH_EVENTS)) {
      bytes += sizeOf(event);
      if (count > 0 && bytes > BATCH_BYTES) break;
      count += 1;
    }
    const { receipt } = this;
    this.receipt = undefined;
    return { events: this.pending.splice(0, count), ...(receipt ? { receipt } : {}) };
  }
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}
