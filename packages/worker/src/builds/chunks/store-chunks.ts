import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { mapConcurrently } from "../../repositories/map-concurrently.ts";
import type { ServerClient } from "../../server-client/server-client.ts";
import { type ArchivePart, splitArchive } from "./archive-parts.ts";
import type { ChunkCache } from "./chunk-cache.ts";
import { type Chunk, type ChunkList, formatChunkList } from "./chunk-list.ts";
import { Chunker } from "./chunker.ts";
import { formatBytes } from "./format-bytes.ts";

const zstd = promisify(zstdCompress);
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** How many chunks the server is asked about in one request. */
const BATCH = 8;
/** Chunks in memory: those of two batches, and those that are being compressed. */
const MAX_PENDING = 2 * BATCH + availableParallelism();

interface StoreOptions {
  server: ServerClient;
  buildId: string;
  /** The token of the build's lease. */
  token: string;
  cache: ChunkCache;
  signal: AbortSignal;
}

export interface StoredArchive {
  /** The hash of the list of chunks. */
  sha256: string;
  /** The size of the list and all chunks, as they are stored. */
  size_bytes: number;
  /** A sentence for the build log. */
  message: string;
}

/** Stores an archive on the server, in chunks. It reads, compresses and uploads at the same time. */
export async function storeArchive(
  archive: AsyncIterable<Buffer>,
  options: StoreOptions,
): Promise<StoredArchive> {
  const upload = new ChunkUpload(options);
  const chunkers: Record<ArchivePart, Chunker> = { headers: new Chunker(), contents: new Chunker() };
  try {
    for await (const { part, data } of splitArchive(archive)) {
      for (const content of chunkers[part].push(data)) await upload.add(part, content);
    }
    for (const part of ["headers", "contents"] as const) {
      const last = chunkers[part].finish();
      if (last) await upload.add(part, last);
    }
    return await upload.finish();
  } catch (error) {
    await upload.settle().catch(() => {});
    throw error;
  }
}

interface Frame extends Chunk {
  data: Buffer;
}

class ChunkUpload {
  readonly #options: StoreOptions;
  readonly #list: ChunkList = { headers: [], contents: [] };
  /** Settle when a chunk is in a batch, and when a batch is stored. */
  readonly #running = new Set<Promise<void>>();
  readonly #seen = new Set<string>();
  #batch: Frame[] = [];
  #pending = 0;
  #onProgress = () => {};
  #error: { reason: unknown } | undefined;
  #sentChunks = 0;
  #sentBytes = 0;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Resolves when there is memory for the next chunk. */
  async add(part: ArchivePart, content: Buffer): Promise<void> {
    const list = this.#list[part];
    const index = list.push({ sha256: "", storedBytes: 0, bytes: content.length }) - 1;
    this.#pending += 1;
    this.#run(async () => {
      const data = await zstd(content, zstdOptions);
      const sha256 = createHash("sha256").update(data).digest("hex");
      const chunk = { sha256, storedBytes: data.length, bytes: content.length };
      list[index] = chunk;
      if (this.#seen.has(sha256)) return this.#release(1);
      this.#seen.add(sha256);
      this.#batch.push({ ...chunk, data });
      if (this.#batch.length >= BATCH) this.#sendBatch();
    });
    while (this.#pending >= MAX_PENDING && !this.#error)
      await new Promise<void>((resolve) => {
        this.#onProgress = resolve;
      });
    this.#throwError();
  }

  async finish(): Promise<StoredArchive> {
    await this.settle();
    this.#sendBatch();
    await this.settle();
    const { server, signal } = this.#options;
    const data = formatChunkList(this.#list);
    const sha256 = createHash("sha256").update(data).digest("hex");
    await server.putBlob(data, sha256, signal);
    const chunks = [...this.#list.headers, ...this.#list.contents];
    const unique = new Map(chunks.map((chunk) => [chunk.sha256, chunk.storedBytes]));
    const archiveBytes = chunks.reduce((sum, { bytes }) => sum + bytes, 0);
    const stored = `Stored ${formatBytes(archiveBytes)} as ${unique.size} chunks`;
    return {
      sha256,
      size_bytes: [...unique.values()].reduce((sum, bytes) => sum + bytes, data.length),
      message: `${stored}, ${this.#sentChunks} of them new (${formatBytes(this.#sentBytes)} sent).`,
    };
  }

  #sendBatch(): void {
    const frames = this.#batch;
    this.#batch = [];
    if (frames.length > 0) this.#run(() => this.#send(frames));
  }

  async #send(frames: Frame[]): Promise<void> {
    const { server, buildId, token, cache, signal } = this.#options;
    const chunks = frames.map(({ sha256 }) => sha256);
    const { missing } = await server.recordChunks(buildId, { token, chunks }, signal);
    await mapConcurrently(frames, async ({ sha256, data }) => {
      if (missing.includes(sha256)) {
        await server.putBlob(data, sha256, signal);
        this.#sentChunks += 1;
        this.#sentBytes += data.length;
      }
      await cache.add(sha256, data);
      this.#release(1);
    });
  }

  #release(chunks: number): void {
    this.#pending -= chunks;
    this.#onProgress();
  }

  #run(task: () => Promise<void>): void {
    const running = task()
      .catch((reason) => {
        this.#error ??= { reason };
        this.#onProgress();
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Waits for everything that has been started. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    this.#throwError();
  }

  #throwError(): void {
    if (this.#error) throw this.#error.reason;
  }
}
