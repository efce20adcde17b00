import type { RunEvent } from "@outrider/contract/event";

/** The most that the artifacts of one run hold together. A single output has a bound of its own. */
const MOST_BYTES = 1024 ** 3;

/** How much of a run is kept as artifacts, its earlier turns and attempts included. */
export class KeptBytes {
  readonly most: number;
  private used = 0;

  constructor(most = MOST_BYTES) {
    this.most = most;
  }

  /** What the log tells of; to be called once. */
  count(history: readonly RunEvent[]) {
    for (const { type, data } of history) if (type === "artifact.added") this.used += data.size_bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.used + bytes <= this.most;
  }

  add(bytes: number) {
    this.used += bytes;
  }
}
