import { Failure } from "@outrider/agent/failure";
import type { Snapshot, TurnOutcome } from "@outrider/contract/worker";
import { type FreeSpace, isOutOfSpace } from "../free-space.ts";
import { SandboxLostError } from "../sandboxes/sandbox.ts";
import type { RunWorkspace } from "../workspace/workspace.ts";
import { failedOutcome } from "./failed-outcome.ts";
import type { Lease } from "./lease.ts";
import type { Reporter } from "./reporter.ts";

const INTERVAL_MS = 60_000;

interface SnapshotsOptions {
  workspace: RunWorkspace;
  reporter: Reporter;
  freeSpace: FreeSpace;
  lease: Lease;
  /** The snapshot that the run starts from. */
  initial: Snapshot | undefined;
}

const lostOutcome = ({ message }: SandboxLostError) => failedOutcome(new Failure("sandbox_lost", message));

/** Stores snapshots of a run's files. Each one corresponds to a position (`seq`) in the run's event log. */
export class Snapshots {
  readonly #options: SnapshotsOptions;
  #lastTakenAt = performance.now();
  /** The latest snapshot on the server. */
  latest: Snapshot | undefined;

  constructor(options: SnapshotsOptions) {
    this.#options = options;
    this.latest = options.initial;
  }

  /** Stores a snapshot if files have changed since the last one. */
  async take(): Promise<Snapshot | undefined> {
    const { workspace, reporter, lease } = this.#options;
    if (!workspace.isDirty) return undefined;
    let seq = reporter.lastSeq;
    const stored = await workspace.store(lease.signal, {
      async beforeReading() {
        await reporter.flush();
        seq = reporter.lastSeq;
      },
    });
    if (!stored) return undefined;
    this.latest = { ...stored, seq };
    return this.latest;
  }

  /**
   * Like `take`, but waits for disk space. If the files cannot be stored, the turn fails regardless of its planned
   * outcome. A turn that has failed already keeps its own reason if the sandbox is lost.
   */
  async takeFinal(outcome: TurnOutcome): Promise<{ outcome: TurnOutcome; snapshot?: Snapshot }> {
    const { freeSpace, lease } = this.#options;
    try {
      const snapshot = await freeSpace.retryWhileFull(() => this.take(), lease.signal);
      return { outcome, ...(snapshot ? { snapshot } : {}) };
    } catch (error) {
      if (error instanceof SandboxLostError && !error.isRecoverable)
        return { outcome: outcome.type === "failed" ? outcome : lostOutcome(error) };
      if (!(error instanceof Failure)) throw error;
      return { outcome: failedOutcome(error) };
    }
  }

  /**
   * Stores the files of a turn that ends with an unexpected error. The last reported position is that of the log, because
   * later events are dropped. Returns undefined if the files cannot be stored either.
   */
  async takeAfterError(): Promise<Snapshot | undefined> {
    const { workspace, reporter, lease } = this.#options;
    if (!workspace.isDirty) return undefined;
    const stored = await workspace.store(lease.signal).catch(() => undefined);
    return stored && { ...stored, seq: reporter.lastSeq };
  }

  /** Stores and reports a snapshot at most once a minute, so that little work is lost if the worker fails. */
  async takePeriodically(): Promise<void> {
    const { workspace, reporter } = this.#options;
    if (!workspace.isDirty || performance.now() - this.#lastTakenAt < INTERVAL_MS) return;
    this.#lastTakenAt = performance.now();
    const snapshot = await this.take().catch((error) => {
      // Try again in the next interval. The final snapshot waits for disk space.
      if (!isOutOfSpace(error)) throw error;
      return undefined;
    });
    if (snapshot) await reporter.flush({ snapshot });
  }
}
