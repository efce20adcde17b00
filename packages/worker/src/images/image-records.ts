/**
 * What the images on this worker consist of, so that a digest whose layers are in the store needs no registry.
 *
 * - A record is written after everything in it has been verified by the image's digest, and appears atomically.
 * - A record belongs to a digest in a repository, and to those who pulled it: everyone if it needed no credentials, or the
 *   environments that use the same secret. Others must show their credentials to the registry first.
 * - A record whose layers have been removed is useless, and is removed too.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LayerRef, LayerStore } from "./layer-store.ts";
import type { ImageConfig } from "./manifest.ts";

export interface ImageRecord {
  /** The layers from bottom to top. */
  diffIds: string[];
  config: ImageConfig;
}

export interface RecordKey {
  digest: string;
  registry: string;
  repository: string;
  /** The name of the secret with the credentials. It identifies them, so that they can be renewed. */
  secretName: string | undefined;
}

const recordName = /^[0-9a-f]{64}\.json$/;
const DRAFT_MS = 60_000;

export class ImageRecords {
  readonly #store: LayerStore;
  readonly #folder: string;

  constructor(store: LayerStore) {
    this.#store = store;
    this.#folder = join(store.folder, ".images");
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** Returns an image with its layers in use, or undefined if one of them is not on this worker. */
  acquire(key: RecordKey): { layers: LayerRef[]; config: ImageConfig } | undefined {
    const record = read(this.#path(key));
    if (!record) return undefined;
    const layers: LayerRef[] = [];
    for (const diffId of record.diffIds) {
      const layer = this.#store.acquire(diffId);
      if (!layer) {
        for (const { release } of layers) release();
        return undefined;
      }
      layers.push(layer);
    }
    return { layers, config: record.config };
  }

  write(key: RecordKey, record: ImageRecord): void {
    const draft = join(this.#folder, `.${randomUUID()}`);
    writeFileSync(draft, JSON.stringify(record), { mode: 0o600, flush: true });
    renameSync(draft, this.#path(key));
  }

  /** Removes the records of images whose layers have been removed, and drafts of a crashed worker. */
  prune(): void {
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      const isKept = recordName.test(name)
        ? read(path)?.diffIds.every((diffId) => this.#store.has(diffId))
        : Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < DRAFT_MS;
      if (!isKept) rmSync(path, { force: true });
    }
  }

  #path({ digest, registry, repository, secretName }: RecordKey): string {
    const key = JSON.stringify([digest, registry, repository, secretName ?? null]);
    return join(this.#folder, `${createHash("sha256").update(key).digest("hex")}.json`);
  }
}

/** A file that a crash of the machine left incomplete counts as missing. */
function read(path: string): ImageRecord | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
