import { toArgument } from "./git-ignored.ts";
import type { Inspection } from "./inspection.ts";

/** Larger files are neither saved nor compared. */
export const MAX_FILE_BYTES = 256 * 1024;
const MAX_TOTAL_BYTES = 32 * 1024 * 1024;

/**
 * Copies of files as they were at the last check, in a sandbox folder that only the worker's own scripts can access.
 */
export class PreviousContents {
  readonly #sizes = new Map<string, number>();
  #bytes = 0;

  sizeOf(path: string): number | undefined {
    return this.#sizes.get(path);
  }

  /** Replaces the copies of changed files. A file without a size was deleted. Files that do not fit are not saved. */
  async replace(inspection: Inspection, files: { path: string; size: number | undefined }[]): Promise<void> {
    const known = files.map(({ path }) => path).filter((path) => this.#sizes.has(path));
    await this.#forget(inspection, known);
    const saved: string[] = [];
    for (const { path, size } of files) {
      if (size === undefined || size > MAX_FILE_BYTES || this.#bytes + size > MAX_TOTAL_BYTES) continue;
      this.#sizes.set(path, size);
      this.#bytes += size;
      saved.push(path);
    }
    if (saved.length === 0) return;
    const errors = await inspection.run(
      "copy",
      saved.map(toArgument),
      inspection.paths.workspace,
      inspection.paths.saved,
    );
    // The disk may be full, so any of the copies may be incomplete.
    if (errors.length > 0) await this.#forget(inspection, saved);
  }

  async #forget(inspection: Inspection, files: string[]): Promise<void> {
    if (files.length > 0) await inspection.run("forget", files.map(toArgument), inspection.paths.saved);
    for (const path of files) {
      this.#bytes -= this.#sizes.get(path) ?? 0;
      this.#sizes.delete(path);
    }
  }
}
