/**
 * Sends everything that an execution reports to the server: events, usage, the receipt, snapshots, artifacts and the
 * outcome. EventBatches describes the protocol.
 *
 * - `command.started` and `tool.called` are sent before `emit` resolves. After a crash, the log shows that the command
 *   may have run.
 * - Events that do not fit in one batch are sent first, in separate batches. Snapshots, artifacts and the outcome are
 *   part of the last batch, so they never precede the events that led to them.
 * - A request can also ask the server to deliver waiting follow-ups. Delivery and storing the batch are one
 *   transaction.
 * - `finish` sends the last batch together with the turn's outcome. The server may answer that the run continues with
 *   follow-ups that arrived in the meantime.
 *
 * The reporter redacts everything that it sends, except for the receipt and the snapshot, which contain no text from
 * the run. It also replaces everything that the server would reject (see storable-fields.ts). `emit` returns the event
 * as it is stored, and the agent continues with that event, so a live run and a run that is resumed from the log see the
 * same text. Private data, which only workers read, is stored unchanged or not at all.
 *
 * If the server still rejects a batch, every later call rejects with the same error. `finishAfterError` then ends the
 * turn without the events of that batch.
 */
import type { NewArtifact } from "@outrider/contract/artifact";
import type { NewEvent } from "@outrider/contract/event";
import type { PrivateData } from "@outrider/contract/private-data";
import type { RunReceipt, RunUsage } from "@outrider/contract/run";
import type {
  Assignment,
  DeliveredFollowup,
  FinishResponse,
  ReportRequest,
  Snapshot,
  TurnOutcome,
} from "@outrider/contract/worker";
import type { Redactor } from "../redaction/redact.ts";
import { EventBatches } from "../server-client/event-batches.ts";
import { LeaseLostError, type ServerClient } from "../server-client/server-client.ts";
import { toStorableFields } from "./storable-fields.ts";

const FLUSH_MS = 40;
/** The receipt waits longer for other events, because nobody waits for it, and short runs then need a report less. */
const RECEIPT_MS = 500;
/**
 * Follow-ups are requested before each model call, because the agent must see a message even if its signal was not
 * received. The claim has just delivered all waiting follow-ups, so the first request is skipped within this time.
 */
const FRESH_CLAIM_MS = 100;

/** Events that must be stored before the action they announce is executed. */
const storedBeforeAction = new Set<NewEvent["type"]>(["command.started", "tool.called"]);

/** The parts of a report besides its events. */
interface Attached {
  snapshot?: Snapshot;
  artifacts?: NewArtifact[];
}

export class Reporter {
  readonly #server: ServerClient;
  readonly #assignment: Assignment;
  readonly #redactor: Redactor;
  readonly #signal: AbortSignal;
  readonly #batches = new EventBatches<NewEvent>({ delayMs: FLUSH_MS, flush: () => this.flush() });
  #receipt: RunReceipt | undefined;
  #receiptTimer: NodeJS.Timeout | undefined;
  #claimedAt: number | undefined = performance.now();
  /** The run's phase, which every report contains. */
  phase: "preparing" | "working" = "preparing";
  lastSeq = 0;
  usage: RunUsage;
  /** Whether follow-ups are waiting on the server, according to the signal stream. */
  hasWaitingFollowups = false;

  constructor(options: {
    server: ServerClient;
    assignment: Assignment;
    redactor: Redactor;
    signal: AbortSignal;
  }) {
    this.#server = options.server;
    this.#assignment = options.assignment;
    this.#redactor = options.redactor;
    this.#signal = options.signal;
    this.usage = options.assignment.usage;
    this.lastSeq = options.assignment.history.at(-1)?.seq ?? 0;
  }

  /** Queues an event. Returns it as it is stored. */
  async emit<E extends NewEvent>(event: E): Promise<E> {
    if (this.#batches.failure) throw this.#batches.failure;
    if (event.type === "usage.updated") this.usage = event.data;
    const { private: hidden, ...visible } = event;
    const kept = hidden ? this.#unchanged(hidden) : undefined;
    const stored = { ...visible, data: this.#toStored(event.data), ...(kept ? { private: kept } : {}) } as E;
    this.#batches.add(stored);
    if (storedBeforeAction.has(event.type) || this.#batches.isFull) await this.flush();
    return stored;
  }

  /** Queues the receipt for the next batch, which may be the last one. */
  setReceipt(receipt: RunReceipt) {
    this.#receipt = receipt;
    this.#receiptTimer ??= setTimeout(() => {
      this.flush().catch(() => {});
    }, RECEIPT_MS);
  }

  async flush({ snapshot, artifacts }: Attached = {}): Promise<void> {
    await this.#send({
      deliver: false,
      ...(snapshot ? { snapshot } : {}),
      ...(artifacts ? { artifacts: artifacts.map((artifact) => this.#toStored(artifact)) } : {}),
    });
  }

  /** Sends pending events and returns the follow-ups that were sent to the run in the meantime. */
  async takeFollowups(): Promise<DeliveredFollowup[]> {
    const { hasWaitingFollowups } = this;
    const claimedAt = this.#claimedAt;
    this.#claimedAt = undefined;
    this.hasWaitingFollowups = false;
    const isFreshClaim = claimedAt !== undefined && performance.now() - claimedAt < FRESH_CLAIM_MS;
    if (isFreshClaim && !hasWaitingFollowups) return [];
    return this.#send({ deliver: true });
  }

  async finish(
    { type, ...result }: TurnOutcome,
    { snapshot, warm_minutes }: { snapshot?: Snapshot | undefined; warm_minutes?: number | undefined } = {},
  ): Promise<FinishResponse> {
    return this.#batches.inOrder(async () => {
      await this.#sendExcess();
      const body = {
        ...this.#nextReport(),
        outcome: { type, ...this.#toStored(result) } as TurnOutcome,
        ...(snapshot ? { snapshot } : {}),
        ...(warm_minutes ? { warm_minutes } : {}),
      };
      return this.#server.finish(this.#assignment.execution_id, body, this.#signal);
    });
  }

  /**
   * Ends the turn after an unexpected error. Events that are not stored yet are dropped, because one of them may be the
   * reason for the error. If the server rejects this outcome as well, sends one that contains nothing from the run.
   */
  async finishAfterError(message: string, snapshot: Snapshot | undefined): Promise<void> {
    const outcome = { type: "failed", error_code: "internal_error", message } as const;
    this.#batches.dropUnstored();
    try {
      await this.finish(outcome, { snapshot });
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      this.#batches.dropUnstored();
      this.#receipt = undefined;
      this.usage = this.#assignment.usage;
      await this.finish({ ...outcome, message: "The worker could not report how the turn ended." });
    }
  }

  #send(options: Attached & { deliver: boolean }): Promise<DeliveredFollowup[]> {
    return this.#batches.inOrder(async () => {
      const { deliver, ...attached } = options;
      const isEmpty = this.#batches.isEmpty && this.#receipt === undefined;
      if (isEmpty && !deliver && Object.keys(attached).length === 0) return [];
      await this.#sendExcess();
      return this.#report({ ...this.#nextReport(), ...options });
    });
  }

  #sendExcess(): Promise<void> {
    return this.#batches.sendExcess((batch) => this.#report({ ...this.#nextReport(batch), deliver: false }));
  }

  async #report(body: ReportRequest): Promise<DeliveredFollowup[]> {
    const { execution_id } = this.#assignment;
    const { last_seq, followups } = await this.#server.report(execution_id, body, this.#signal);
    this.lastSeq = last_seq;
    return followups;
  }

  #toStored<T extends object>(fields: T): T {
    return toStorableFields(fields, (text) => this.#redactor.redact(text));
  }

  /**
   * Returns private data only if storing it changes nothing. It contains signatures and encrypted text, which are useless
   * once a secret in them is masked.
   */
  #unchanged(hidden: PrivateData): PrivateData | undefined {
    const json = JSON.stringify(hidden);
    const isClean = this.#redactor.redact(json) === json && JSON.stringify(this.#toStored(hidden)) === json;
    return isClean ? hidden : undefined;
  }

  #nextReport(batch = this.#batches.take()) {
    const receipt = this.#receipt && toStorableFields(this.#receipt, (text) => text);
    this.#receipt = undefined;
    clearTimeout(this.#receiptTimer);
    this.#receiptTimer = undefined;
    const { run_id } = this.#assignment;
    return { run_id, ...batch, ...(receipt ? { receipt } : {}), usage: this.usage, phase: this.phase };
  }
}
