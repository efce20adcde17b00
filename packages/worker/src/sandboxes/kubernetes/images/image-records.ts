import { randomUUID } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { ImageConfig } from "../../../images/manifest.ts";

/** What the worker knows of an image that somebody with a certain secret may use. */
export interface ImageRecord {
  /** Its name with the digest. */
  name: string;
  config: ImageConfig;
  /** The content of its /etc/passwd. */
  accounts: string;
  osRelease: string;
  /** The home of its user, as an archive in Base64. Undefined if it is large, or cannot be a volume. */
  home?: { path: string; archive: string } | undefined;
}

const maxRecords = 1000;
const recordName = /^[0-9a-f]{64}$/;

/** The records of a worker, so that images which it knows need no registry. */
export class ImageRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // What an earlier worker did not complete.
    for (const name of readdirSync(folder)) if (!recordName.test(name)) rmSync(join(folder, name));
  }

  /** Makes the record the most recently used one. A file that a crash of the machine left incomplete counts as missing. */
  read(id: string): ImageRecord | undefined {
    const path = join(this.#folder, id);
    try {
      const record = JSON.parse(readFileSync(path, "utf8"));
      const now = Date.now() / 1000;
      utimesSync(path, now, now);
      return record;
    } catch {
      return undefined;
    }
  }

  write(id: string, record: ImageRecord): void {
    const draft = join(this.#folder, `.${randomUUID()}`);
    writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
    renameSync(draft, join(this.#folder, id));
    const paths = readdirSync(this.#folder).map((name) => join(this.#folder, name));
    const byAge = paths.map((path) => ({ path, usedAt: statSync(path).mtimeMs }));
    byAge.sort((a, b) => b.usedAt - a.usedAt);
    for (const { path } of byAge.slice(maxRecords)) rmSync(path, { force: true });
  }
}
