import { createHash } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface PullKey {
  /** The image with its digest. */
  name: string;
  /** The secret's name identifies the credentials, so that they can be renewed. */
  secretName: string | undefined;
}

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

  add(key: PullKey): void {
    writeFileSync(this.#path(key), "", { mode: 0o600 });
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
