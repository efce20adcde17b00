import type { RunEvent } from "@outrider/contract/event";

/** The maximum total size of a run's artifacts. Each command's output also has its own limit. */
const MAX_BYTES = 1024 ** 3;

/** Limits the total size of a run's artifacts, including those from earlier turns and attempts. */
export class ArtifactQuota {
  readonly maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.maxBytes = maxBytes;
  }

  /** Adds the sizes of the artifacts that the event log lists. Call once. */
  countHistory(history: readonly RunEvent[]) {
    for (const { type, data } of history) if (type === "artifact.added") this.#usedBytes += data.size_bytes;
  }

  hasSpaceFor(bytes: number): boolean {
    return this.#usedBytes + bytes <= this.maxBytes;
  }

  add(bytes: number) {
    this.#usedBytes += bytes;
  }
}
