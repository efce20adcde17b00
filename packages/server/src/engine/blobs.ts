import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { keepBlob } from "../store/blobs.ts";
import type { Db } from "../store/db.ts";
import { Refusal } from "./refusal.ts";

/** Files by the hash of their content: snapshots of workspaces, output too large for an event. */
export interface Blobs {
  put(sha256: string, content: Readable): Promise<void>;
  open(sha256: string): Promise<{ content: Readable; size: number } | undefined>;
  /** Of all of them. */
  folder: string;
}

export function placeOf(folder: string, sha256: string): string {
  return join(folder, sha256.slice(0, 2), sha256);
}

/** Puts a file where its content belongs, whole or not at all. */
export async function placeBlob({
  folder,
  sha256,
  content,
  beforeItIsThere = async () => {},
}: {
  folder: string;
  sha256: string;
  content: Readable;
  beforeItIsThere?: (size: number) => Promise<void>;
}): Promise<void> {
  const target = placeOf(folder, sha256);
  const draft = `${target}.${randomUUID()}.part`;
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const hash = createHash("sha256");
  let size = 0;
  const tee = new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  try {
    await pipeline(content, tee, createWriteStream(draft, { mode: 0o600, flush: true }));
    if (hash.digest("hex") !== sha256) {
      throw new Refusal("invalid_request", "The content does not have the hash that its address names.");
    }
    await beforeItIsThere(size);
    await rename(draft, target);
  } finally {
    await rm(draft, { force: true });
  }
}

export function openBlobs(folder: string, db: Db): Blobs {
  return {
    folder,
    put: (sha256, content) =>
      // Once the row says that it is needed, nobody removes the file. Who was about to has done so by then.
      placeBlob({
        folder,
        sha256,
        content,
        beforeItIsThere: (size_bytes) => keepBlob(db, { sha256, size_bytes }),
      }),
    async open(sha256) {
      const found = await stat(placeOf(folder, sha256)).catch(() => undefined);
      return found && { content: createReadStream(placeOf(folder, sha256)), size: found.size };
    },
  };
}
