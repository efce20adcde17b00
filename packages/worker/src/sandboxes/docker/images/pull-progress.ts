import type { ProgressMessage } from "../engine/progress.ts";

/** Turns the engine's messages about a pull into sentences for the build log. */
export class PullProgress {
  readonly #write: (message: string) => void;
  readonly #startedAt = performance.now();
  /** The compressed sizes of layers that are being downloaded. */
  readonly #sizes = new Map<string, number>();
  #pulled = 0;
  #cached = 0;

  constructor(write: (message: string) => void) {
    this.#write = write;
  }

  get downloadedBytes(): number {
    return [...this.#sizes.values()].reduce((total, size) => total + size, 0);
  }

  add({ status = "", id = "", progressDetail }: ProgressMessage): void {
    const size = progressDetail?.total;
    if (status === "Downloading" && size !== undefined && size > 0) this.#sizes.set(id, size);
    if (status === "Already exists") {
      this.#cached += 1;
      this.#write("Layer: already in the engine.");
    }
    if (status === "Pull complete") {
      this.#pulled += 1;
      const bytes = this.#sizes.get(id);
      this.#write(`Layer: ${bytes === undefined ? "less than 0.1 MiB" : formatSize(bytes)}.`);
    }
  }

  finish(): void {
    const layers = this.#pulled + this.#cached;
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1);
    const cached = this.#cached > 0 ? `; already in the engine: ${this.#cached} of ${layers} layers` : "";
    this.#write(`Total: ${formatSize(this.downloadedBytes)} in ${seconds} s${cached}.`);
  }
}

const formatSize = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
