import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Failure } from "@outrider/agent/failure";
import type { ReadyBuild } from "@outrider/contract/worker/build";
import { HashingStream } from "../hashing-stream.ts";
import { decompress } from "../images/decompress.ts";
import type { Log } from "../log.ts";
import type { Sandbox, SandboxImage, SandboxProvider, Spawned } from "../sandboxes/sandbox.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { ChunkCache } from "./chunks/chunk-cache.ts";
import { isChunkList, maxListBytes, parseChunkList } from "./chunks/chunk-list.ts";
import { fetchArchive } from "./chunks/fetch-chunks.ts";
import { formatBytes } from "./chunks/format-bytes.ts";
import { type StoredArchive, storeArchive } from "./chunks/store-chunks.ts";
import { compress } from "./compress.ts";

const FETCH_DEADLINE_NS = 60n * 60_000_000_000n;

/**
 * Waits for a transfer to or from a program, and for the program to exit. Rejects with the program's stderr if either
 * fails.
 */
async function transferWith(program: Spawned, transfer: () => Promise<void>): Promise<void> {
  let stderr = "";
  program.stderr.on("data", (data: Buffer) => {
    stderr = (stderr + data).slice(-1_000);
  });
  const [transferError, { exitCode }] = await Promise.all([
    transfer().catch((error: Error) => {
      void program.kill();
      return error;
    }),
    program.ended,
  ]);
  if (exitCode === 0 && !transferError) return;
  if (transferError instanceof Failure) throw transferError;
  throw new Error(
    `Cannot transfer the build's files: ${stderr.trim() || transferError?.message || `exit code ${exitCode}`}`,
  );
}

async function firstBytesOf(path: string): Promise<Buffer> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0);
  return buffer.subarray(0, bytesRead);
}

interface BuildBasesOptions {
  provider: SandboxProvider;
  server: ServerClient;
  /** The temporary folder for files in transfer. */
  folder: string;
  /** The folder for chunks, which are kept for later builds. */
  chunksFolder: string;
  /** Disk space limit for bases and chunks. The least recently used ones are evicted first. */
  maxBytes: number;
  log: Log;
}

interface StoreOptions {
  buildId: string;
  /** The token of the build's lease. */
  token: string;
  /** Whether to store the files in chunks, which builds share, instead of one archive. */
  inChunks: boolean;
  signal: AbortSignal;
}

/** The part of the disk space limit that chunks can use. */
const CHUNKS_SHARE = 0.25;

/** The builds on this worker's disk, on which sandboxes can be opened. A base is named after its build's id. */
export class BuildBases {
  readonly #options: BuildBasesOptions;
  readonly #fetching = new Map<string, Promise<void>>();
  readonly #chunks: ChunkCache;

  constructor(options: BuildBasesOptions) {
    this.#options = options;
    const { chunksFolder, maxBytes, log } = options;
    this.#chunks = new ChunkCache({ folder: chunksFolder, maxBytes: maxBytes * CHUNKS_SHARE, log });
  }

  /** The disk space that chunks use. */
  get chunkBytes(): number {
    return this.#chunks.bytes;
  }

  /** Stores a sandbox's files as a build, on this disk and on the server, and closes the sandbox. */
  async store(sandbox: Sandbox, options: StoreOptions): Promise<StoredArchive> {
    const stored = options.inChunks
      ? await this.#storeChunks(sandbox, options)
      : await this.#storeArchive(sandbox, options);
    void this.#evict();
    return stored;
  }

  async #storeChunks(sandbox: Sandbox, options: StoreOptions): Promise<StoredArchive> {
    const { provider, server } = this.#options;
    const tar = await provider.packBase(sandbox, options);
    let stored: StoredArchive | undefined;
    await transferWith(tar, async () => {
      stored = await storeArchive(tar.stdout, { ...options, server, cache: this.#chunks });
    });
    await provider.saveBase(sandbox, options.buildId);
    return stored as StoredArchive;
  }

  async #storeArchive(sandbox: Sandbox, { buildId, signal }: StoreOptions): Promise<StoredArchive> {
    const { provider, server, folder } = this.#options;
    const file = join(folder, `${randomUUID()}.base`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      const hashing = new HashingStream();
      const tar = await provider.packBase(sandbox, { signal });
      const output = createWriteStream(file, { mode: 0o600 });
      await transferWith(tar, () => pipeline(tar.stdout, compress, hashing, output));
      const { sha256, size_bytes } = hashing.result();
      await Promise.all([server.putBlob(file, sha256, signal), provider.saveBase(sandbox, buildId)]);
      return { sha256, size_bytes, message: `Stored ${formatBytes(size_bytes)}.` };
    } finally {
      await rm(file, { force: true });
    }
  }

  /** Returns the name of the build's base. Fetches it from the server if it is not on this disk. */
  async ensure(build: ReadyBuild, image: SandboxImage | undefined, signal: AbortSignal): Promise<string> {
    const { build_id } = build;
    if (this.#isLocal(build_id)) return build_id;
    const fetching =
      this.#fetching.get(build_id) ??
      this.#fetch(build, image, signal).finally(() => this.#fetching.delete(build_id));
    this.#fetching.set(build_id, fetching);
    await fetching.catch(() => {});
    signal.throwIfAborted();
    // The caller that started the fetch may have been cancelled.
    if (!this.#isLocal(build_id)) await this.#fetch(build, image, signal);
    return build_id;
  }

  #isLocal(name: string): boolean {
    return this.#options.provider.listBases().some((base) => base.name === name);
  }

  async #fetch(
    { build_id, sha256 }: ReadyBuild,
    image: SandboxImage | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { provider, server, folder } = this.#options;
    const file = join(folder, `${randomUUID()}.fetched`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const deadline = process.hrtime.bigint() + FETCH_DEADLINE_NS;
    const sandbox = await provider.open({
      ...{ id: `fetch-${randomUUID()}`, deadline, label: { build_id }, mayStayUnused: true },
      ...(image ? { image: { ...image, user: "root" } } : {}),
    });
    try {
      const hashing = new HashingStream();
      const output = createWriteStream(file, { mode: 0o600 });
      await pipeline(await server.getBlob(sha256, signal), hashing, output, { signal });
      if (hashing.result().sha256 !== sha256)
        throw new Error("The build's files were corrupted in transfer.");
      const tar = await provider.unpackBase(sandbox, { signal });
      const archive = await this.#openArchive(file, build_id, signal);
      await transferWith(tar, () => pipeline(archive, tar.stdin));
      await provider.saveBase(sandbox, build_id);
      void this.#evict();
    } catch (error) {
      await sandbox.close().catch(() => {});
      throw error;
    } finally {
      await rm(file, { force: true });
    }
  }

  /** Returns the archive in a file, or the archive whose chunks are listed in the file. */
  async #openArchive(file: string, buildId: string, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
    if (!isChunkList(await firstBytesOf(file))) return await decompress(file);
    const { server, log } = this.#options;
    const { size } = await stat(file);
    if (size > maxListBytes) throw new Error("The build's list of chunks is too large.");
    const list = parseChunkList(await readFile(file));
    const chunks = list.headers.length + list.contents.length;
    const fetched = { chunks: 0, bytes: 0 };
    const archive = fetchArchive(list, {
      ...{ server, cache: this.#chunks, buildId, signal },
      onFetched: ({ storedBytes }) => {
        fetched.chunks += 1;
        fetched.bytes += storedBytes;
      },
    });
    return (async function* () {
      yield* archive;
      const part = `${fetched.chunks} of ${chunks} chunks (${formatBytes(fetched.bytes)})`;
      log.info({ build_id: buildId, fetched: part }, "fetched build");
    })();
  }

  /** Evicts bases beyond the limit. A base in use cannot be removed, so a later call tries it again. */
  async #evict(): Promise<void> {
    const { provider, maxBytes, log } = this.#options;
    const bases = provider.listBases().sort((a, b) => b.usedAt - a.usedAt);
    let bytes = this.#chunks.bytes;
    for (const base of bases) {
      bytes += base.bytes;
      if (bytes <= maxBytes || base === bases[0]) continue;
      await provider.removeBase(base.name).catch((error) => log.warn({ error }, "failed to evict base"));
    }
  }
}
