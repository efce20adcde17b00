import { tooLarge } from "./image-error.ts";
import type { ImageLimits } from "./limits.ts";
import { megabytes } from "./manifest.ts";

/** Counts what the layers of one image take up together. */
export class Budget {
  readonly #limits: ImageLimits;
  #bytes = 0;
  #entries = 0;

  constructor(limits: ImageLimits) {
    this.#limits = limits;
  }

  addBytes(bytes: number): void {
    this.checkBytes(bytes);
    this.#bytes += bytes;
  }

  /** Fails if this many further bytes would be too many. */
  checkBytes(bytes: number): void {
    if (this.#bytes + bytes > this.#limits.maxUnpackedBytes)
      throw tooLarge(
        `The image has more than ${megabytes(this.#limits.maxUnpackedBytes)} unpacked, which is the limit.`,
      );
  }

  addEntry(entries = 1): void {
    this.#entries += entries;
    if (this.#entries > this.#limits.maxEntries)
      throw tooLarge(`The image has more than ${this.#limits.maxEntries} files, which is the limit.`);
  }
}
