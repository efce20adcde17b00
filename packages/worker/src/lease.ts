/**
 * The right to work on a run, as far as this worker knows. It lasts from when the last accepted request was sent, not
 * from when its answer came, so it never outlasts what the server believes.
 */
export class Lease {
  private deadline: bigint;
  private readonly durationMs: number;
  private readonly ended = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private readonly extended: (deadline: bigint) => void;

  constructor({
    sentAt,
    durationMs,
    extended,
  }: { sentAt: bigint; durationMs: number; extended(deadline: bigint): void }) {
    this.durationMs = durationMs;
    this.extended = extended;
    this.deadline = sentAt;
    this.extend(sentAt);
  }

  /** Aborts when the lease is lost, with the reason. */
  get signal(): AbortSignal {
    return this.ended.signal;
  }

  get until(): bigint {
    return this.deadline;
  }

  extend(sentAt: bigint) {
    if (this.signal.aborted) return;
    this.deadline = sentAt + BigInt(this.durationMs) * 1_000_000n;
    this.extended(this.deadline);
    clearTimeout(this.timer);
    const left = Number(this.deadline - process.hrtime.bigint()) / 1e6;
    this.timer = setTimeout(() => this.lose("The server was not reached in time."), Math.max(0, left));
  }

  lose(reason: string) {
    clearTimeout(this.timer);
    this.ended.abort(new Error(reason));
  }

  /** The work is done; the lease is nobody's concern any more. */
  release() {
    clearTimeout(this.timer);
  }
}
