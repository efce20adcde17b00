import type { BlobStorage, StoredBlob } from "../../blobs/blob-storage.ts";
import { HashMismatchError } from "../../blobs/blob-storage.ts";

const COPIES_AT_ONCE = 8;

export interface MoveOptions {
  from: BlobStorage;
  to: BlobStorage;
  signal?: AbortSignal | undefined;
  progress?(progress: MoveProgress): void;
}

export interface MoveProgress {
  /** Blobs that the target had already. */
  present: number;
  copied: number;
  bytes: number;
  /** The hashes of blobs whose content does not match. They are not copied. */
  damaged: string[];
}

/**
 * Copies all blobs that the target does not have. The source stays unchanged. Blobs never change, so the copy can be
 * interrupted, repeated, and made while servers use the source: a repetition copies what is new.
 *
 * Both storages verify the hash of everything they store, so a blob in the target has the right content.
 */
export async function moveBlobs({ from, to, signal, progress }: MoveOptions): Promise<MoveProgress> {
  const done: MoveProgress = { present: 0, copied: 0, bytes: 0, damaged: [] };
  const copy = async ({ sha256 }: StoredBlob) => {
    signal?.throwIfAborted();
    const blob = await from.open(sha256);
    if (!blob) return; // garbage collection has deleted it in the meantime
    try {
      await to.put(sha256, blob.content, { size: blob.size });
      done.copied += 1;
      done.bytes += blob.size;
    } catch (error) {
      if (!(error instanceof HashMismatchError)) throw error;
      done.damaged.push(sha256);
    }
    progress?.(done);
  };
  // The blobs with the same first digits are compared at once, so that millions of them need little memory.
  for (let part = 0; part < 256; part++) {
    const start = part.toString(16).padStart(2, "0");
    const existing = new Map<string, number>();
    for await (const batch of to.list(start))
      for (const { sha256, size } of batch) existing.set(sha256, size);
    for await (const batch of from.list(start)) {
      const missing = batch.filter(({ sha256, size }) => existing.get(sha256) !== size);
      done.present += batch.length - missing.length;
      await inParallel(missing, COPIES_AT_ONCE, copy);
    }
  }
  return done;
}

async function inParallel<T>(items: T[], max: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const loop = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: max }, loop));
}
