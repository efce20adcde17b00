/**
 * Chunks of builds on this worker's disk, as they are stored on the server.
 *
 * - A file has the name of its hash, and appears atomically. It is verified whenever it is read.
 * - The list of files is read once, so a file may be missing when it is read.
 * - The cache is never needed: an error on this disk is logged, and the chunk comes from the server.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../log.ts";

const hashName = /^[0-9a-f]{64}$/;
const DRAFT_MS = 3_600_000;

interface ChunkCacheOptions {
  folder: string;
  /** The size above which chunks are removed, those used least recently first. */
  maxBytes: number;
  log: Log;
}

export class ChunkCache {
  readonly #options: ChunkCacheOptions;
  /** The sizes of the chunks, those used least recently first. */
  readonly #sizes = new Map<string, number>();
  #bytes = 0;

  constructor(options: ChunkCacheOptions) {
    this.#options = options;
    const { folder } = options;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = readdirSync(folder).flatMap((name) => {
      const stat = statSync(join(folder, name), { throwIfNoEntry: false });
      if (stat && hashName.test(name)) return [{ name, size: stat.size, usedAt: stat.mtimeMs }];
      if (stat && Date.now() - stat.mtimeMs > DRAFT_MS) rmSync(join(folder, name), { force: true });
      return [];
    });
    for (const { name, size } of found.toSorted((a, b) => a.usedAt - b.usedAt)) this.#record(name, size);
  }

  get bytes(): number {
    return this.#bytes;
  }

  async read(sha256: string): Promise<Buffer | undefined> {
    const size = this.#sizes.get(sha256);
    if (size === undefined) return undefined;
    const path = this.#path(sha256);
    const data = await readFile(path).catch(() => undefined);
    if (!data || createHash("sha256").update(data).digest("hex") !== sha256) {
      if (data) this.#options.log.warn({ sha256 }, "removed damaged chunk");
      await this.#remove(sha256);
      return undefined;
    }
    this.#record(sha256, size);
    const now = new Date();
    await utimes(path, now, now).catch(() => {});
    return data;
  }

  /** Stores a chunk that has been verified. */
  async add(sha256: string, data: Buffer): Promise<void> {
    if (this.#sizes.has(sha256)) return this.#record(sha256, data.length);
    const { folder, maxBytes, log } = this.#options;
    const draft = join(folder, `.${randomUUID()}`);
    try {
      await writeFile(draft, data, { mode: 0o600 });
      await rename(draft, this.#path(sha256));
      this.#record(sha256, data.length);
      for (const [oldest] of this.#sizes) {
        if (this.#bytes <= maxBytes) break;
        await this.#remove(oldest);
      }
    } catch (error) {
      log.warn({ error }, "failed to cache chunk");
      await rm(draft, { force: true }).catch(() => {});
    }
  }

  #record(sha256: string, size: number): void {
    this.#forget(sha256);
    this.#sizes.set(sha256, size);
    this.#bytes += size;
  }

  #forget(sha256: string): void {
    this.#bytes -= this.#sizes.get(sha256) ?? 0;
    this.#sizes.delete(sha256);
  }

  async #remove(sha256: string): Promise<void> {
    this.#forget(sha256);
    await rm(this.#path(sha256), { force: true }).catch(() => {});
  }

  #path(sha256: string): string {
    return join(this.#options.folder, sha256);
  }
}
