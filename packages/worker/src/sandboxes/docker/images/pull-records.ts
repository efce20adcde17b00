import { createHash, randomUUID } from "node:crypto";
import {
  existsSync,
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

export interface PullKey {
  /** The image with its digest. */
  name: string;
  /** The secret's name identifies the credentials, so that they can be renewed. */
  secretName: string | undefined;
}

/** What a pull has added to the engine. */
export interface PullRecord {
  name: string;
  /** The size of the image, with layers that other images have too. */
  bytes: number;
  /** Tags that the pull has given to the image. */
  tags: string[];
  /** Whether the engine did not have the image before. */
  isOwn: boolean;
}

const recordName = /^[0-9a-f]{64}$/;

/** Remembers which images were pulled with which secret. Whether the engine still has an image is not recorded. */
export class PullRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  has(key: PullKey): boolean {
    return existsSync(this.#path(key));
  }

  add(key: PullKey, record: PullRecord): void {
    const draft = join(this.#folder, `.${randomUUID()}`);
    writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
    renameSync(draft, this.#path(key));
  }

  /** Makes the image the most recently used one. */
  touch(key: PullKey): void {
    const now = Date.now() / 1_000;
    utimesSync(this.#path(key), now, now);
  }

  /** Lists the images, those used least recently first. Several secrets can have the same image. */
  list(): (PullRecord & { usedAt: number })[] {
    const found = new Map<string, PullRecord & { usedAt: number }>();
    for (const path of this.#paths()) {
      const record = read(path);
      if (!record) continue;
      const { tags = [], isOwn = false, usedAt = 0 } = found.get(record.name) ?? {};
      found.set(record.name, {
        ...record,
        tags: [...new Set([...tags, ...record.tags])],
        isOwn: isOwn || record.isOwn,
        usedAt: Math.max(usedAt, statSync(path).mtimeMs),
      });
    }
    return [...found.values()].sort((a, b) => a.usedAt - b.usedAt);
  }

  /** Removes all records of an image. */
  remove(name: string): void {
    for (const path of this.#paths()) if (read(path)?.name === name) rmSync(path, { force: true });
  }

  #paths(): string[] {
    return readdirSync(this.#folder)
      .filter((name) => recordName.test(name))
      .map((name) => join(this.#folder, name));
  }

  #path({ name, secretName }: PullKey): string {
    return join(
      this.#folder,
      createHash("sha256")
        .update(JSON.stringify([name, secretName ?? null]))
        .digest("hex"),
    );
  }
}

/** A file that a crash of the machine left incomplete counts as missing. */
function read(path: string): PullRecord | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
