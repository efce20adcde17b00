import { inside } from "./ignored.ts";
import { type Inspection, places } from "./inspection.ts";

/** Larger files are neither kept nor shown. */
export const FILE_BYTES = 256 * 1024;
const ALL_BYTES = 32 * 1024 * 1024;

/** What files held at the last look, in a folder of the sandbox where only our own scripts come. */
export class KeptFiles {
  private readonly sizes = new Map<string, number>();
  private bytes = 0;

  sizeOf(path: string): number | undefined {
    return this.sizes.get(path);
  }

  /** Each of these has changed; those with a size are there, and are kept as they are now, where there is room. */
  async replace(inspection: Inspection, files: { path: string; size: number | undefined }[]): Promise<void> {
    const known = files.map(({ path }) => path).filter((path) => this.sizes.has(path));
    await this.forget(inspection, known);
    const fresh: string[] = [];
    for (const { path, size } of files) {
      if (size === undefined || size > FILE_BYTES || this.bytes + size > ALL_BYTES) continue;
      this.sizes.set(path, size);
      this.bytes += size;
      fresh.push(path);
    }
    if (fresh.length === 0) return;
    const complaints = await inspection.ask("copy", fresh.map(inside), places.workspace, places.kept);
    // Perhaps the disk is full: then nobody knows which of them are whole.
    if (complaints.length > 0) await this.forget(inspection, fresh);
  }

  private async forget(inspection: Inspection, paths: string[]): Promise<void> {
    if (paths.length > 0) await inspection.ask("forget", paths.map(inside), places.kept);
    for (const path of paths) {
      this.bytes -= this.sizes.get(path) ?? 0;
      this.sizes.delete(path);
    }
  }
}
