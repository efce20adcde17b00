import type { NewBuildEvent } from "@outrider/contract/build";
import { type NewShellEvent, type ShellInputPiece, shellLimits } from "@outrider/contract/shell";
import type { ShellAssignment } from "@outrider/contract/worker/shell";
import type { StepLog } from "../builds/step-runner.ts";
import type { Redactor } from "../redaction/redact.ts";
import { Lease } from "../run/lease.ts";
import { toStorableFields } from "../run/storable-fields.ts";
import { type Batch, EventBatches } from "../server-client/event-batches.ts";
import type { ServerClient } from "../server-client/server-client.ts";

const REPORTS_PER_LEASE = 6;
const MIN_INTERVAL_MS = 100;
const INPUT_WAIT_MS = 20_000;
/** How soon the worker asks again for input after it could not accept more. */
const FULL_WAIT_MS = 200;

interface ShellChannelOptions {
  server: ServerClient;
  assignment: ShellAssignment;
  /** The time at which the lease starts. */
  leaseStart: bigint;
  redactor: Redactor;
  signal: AbortSignal;
  /** Called with the new deadline after each successful report. */
  onExtended(deadline: bigint): void;
}

/**
 * Connects a shell with its client, through the server. Reports events in numbered batches, which also renew the lease,
 * and fetches input. If the server rejects a request, because the shell was closed or the lease was lost, `signal`
 * aborts.
 */
export class ShellChannel implements StepLog {
  readonly #options: ShellChannelOptions;
  readonly #lease: Lease;
  readonly #batches = new EventBatches<NewShellEvent>({ delayMs: 0, flush: () => this.#flush() });
  readonly #interval: NodeJS.Timeout;
  /** The sizes of the events that the client has not confirmed, in order. */
  readonly #unconfirmed: number[] = [];
  #unconfirmedBytes = 0;
  #confirmed = 0;
  #roomMade = Promise.withResolvers<void>();
  #isSkipping = false;
  readonly #input: ShellInputPiece[] = [];
  #inputArrived = Promise.withResolvers<void>();
  /** Aborts when the shell is closed, the lease is lost, or the worker drains. */
  readonly signal: AbortSignal;

  constructor(options: ShellChannelOptions) {
    const { assignment, leaseStart, signal, onExtended } = options;
    this.#options = options;
    this.#lease = new Lease({ sentAt: leaseStart, durationMs: assignment.lease_ms, onExtended });
    this.signal = AbortSignal.any([signal, this.#lease.signal]);
    const intervalMs = Math.max(MIN_INTERVAL_MS, assignment.lease_ms / REPORTS_PER_LEASE);
    this.#interval = setInterval(() => void this.#flush(), intervalMs);
    this.signal.addEventListener("abort", () => {
      this.#roomMade.resolve();
      this.#inputArrived.resolve();
    });
    void this.#fetchInput().catch((error: Error) => this.#lose(error));
  }

  get deadline(): bigint {
    return this.#lease.deadline;
  }

  /** Reports what a step of the build does. Skips output that the client is too slow to receive. */
  write(event: NewBuildEvent) {
    if (event.type !== "output") return this.emit(event);
    if (!this.#hasRoom) {
      this.#isSkipping = true;
      return;
    }
    if (this.#isSkipping)
      this.emit({
        type: "notice",
        data: { message: "Some output is not shown, because there is too much." },
      });
    this.#isSkipping = false;
    const { stream, text } = event.data;
    this.sendOutput(stream, Buffer.from(text));
  }

  emit(event: Exclude<NewShellEvent, { type: "output" }>) {
    const { redactor } = this.#options;
    const data = toStorableFields(event.data, (text) => redactor.redact(text));
    this.#add({ ...event, data } as NewShellEvent, JSON.stringify(data).length);
  }

  /** Sends output that is already redacted. */
  sendOutput(stream: "stdout" | "stderr", bytes: Buffer) {
    for (let at = 0; at < bytes.length; at += shellLimits.piece) {
      const piece = bytes.subarray(at, at + shellLimits.piece);
      this.#add({ type: "output", data: { stream, data: piece.toString("base64") } }, piece.length);
    }
  }

  /** Resolves when the client has received enough of the earlier events, or when the channel's signal aborts. */
  async room(): Promise<void> {
    while (!this.#hasRoom && !this.signal.aborted) await this.#roomMade.promise;
  }

  /** Returns the input, until the channel's signal aborts. */
  async *input(): AsyncGenerator<ShellInputPiece> {
    while (!this.signal.aborted) {
      const piece = this.#input.shift();
      if (piece) yield piece;
      else await this.#inputArrived.promise;
    }
  }

  /** Reports the end of the shell. */
  async finish(ending: { exit_code?: number; message?: string }): Promise<void> {
    this.stop();
    const { server, assignment, redactor } = this.#options;
    const report = (batch: Batch<NewShellEvent>) => this.#report(batch);
    await this.#batches.inOrder(() => this.#batches.sendExcess(report)).catch(() => {});
    const stored = toStorableFields(ending, (text) => redactor.redact(text));
    const body = { token: assignment.token, ...this.#batches.take(), ...stored };
    await server.finishShell(assignment.shell_id, body, AbortSignal.timeout(assignment.lease_ms));
  }

  stop() {
    clearInterval(this.#interval);
    this.#batches.stop();
    this.#lease.release();
  }

  get #hasRoom(): boolean {
    const { events, bytes } = shellLimits.waitingOutput;
    return this.#unconfirmed.length < events && this.#unconfirmedBytes < bytes;
  }

  #add(event: NewShellEvent, size: number) {
    this.#unconfirmed.push(size);
    this.#unconfirmedBytes += size;
    this.#batches.add(event);
  }

  #confirm(received: number) {
    for (; this.#confirmed < received; this.#confirmed++)
      this.#unconfirmedBytes -= this.#unconfirmed.shift() ?? 0;
    this.#roomMade.resolve();
    this.#roomMade = Promise.withResolvers();
  }

  async #fetchInput() {
    const { server, assignment } = this.#options;
    const { token, shell_id } = assignment;
    for (let after = 0; !this.signal.aborted; ) {
      const isFull = this.#input.length >= shellLimits.waitingInput;
      const request = {
        ...{ token, received: this.#confirmed },
        ...(isFull ? { wait_ms: FULL_WAIT_MS } : { after, wait_ms: INPUT_WAIT_MS }),
      };
      const { pieces, received } = await server.shellInput(shell_id, request, this.signal);
      this.#confirm(received);
      after = pieces.at(-1)?.seq ?? after;
      this.#input.push(...pieces);
      this.#inputArrived.resolve();
      this.#inputArrived = Promise.withResolvers();
    }
  }

  async #flush(): Promise<void> {
    const report = (batch: Batch<NewShellEvent>) => this.#report(batch);
    try {
      await this.#batches.inOrder(async () => {
        await this.#batches.sendExcess(report);
        await report(this.#batches.take());
      });
    } catch (error) {
      this.#lose(error as Error);
    }
  }

  async #report(batch: Batch<NewShellEvent>): Promise<void> {
    const { server, assignment } = this.#options;
    const sentAt = process.hrtime.bigint();
    await server.reportShell(assignment.shell_id, { token: assignment.token, ...batch }, this.signal);
    this.#lease.extend(sentAt);
  }

  #lose(error: Error) {
    this.stop();
    this.#lease.markLost(error.message);
  }
}
