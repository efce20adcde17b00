import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";

const DAY_MS = 24 * 3_600_000;

/** Returns the path of an LFS object below the folder of all objects. */
export const lfsObjectPath = (oid: string) => `${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`;

/** The LFS objects of a mirror, in the same layout as in a clone. The modification time records the last use. */
export class LfsStore {
  readonly #folder: string;

  constructor(mirror: string) {
    this.#folder = join(mirror, "lfs");
  }

  /** Returns whether the object exists, and records its use. */
  has(oid: string): boolean {
    const path = this.#pathOf(oid);
    if (!existsSync(path)) return false;
    const now = new Date();
    utimesSync(path, now, now);
    return true;
  }

  /** Moves a complete, verified file into the store. */
  add(oid: string, file: string): void {
    const path = this.#pathOf(oid);
    mkdirSync(dirname(path), { recursive: true });
    renameSync(file, path);
  }

  bytes(): number {
    return this.#files().reduce(
      (sum, path) => sum + (lstatSync(path, { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  }

  /** Removes objects that were last used more than `days` days ago. */
  expire(days: number): void {
    for (const path of this.#files()) {
      const usedAt = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      if (Date.now() - usedAt > days * DAY_MS) rmSync(path, { force: true });
    }
  }

  #files(): string[] {
    if (!existsSync(this.#folder)) return [];
    const entries = readdirSync(this.#folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  }

  #pathOf(oid: string): string {
    return join(this.#folder, "objects", lfsObjectPath(oid));
  }
}
