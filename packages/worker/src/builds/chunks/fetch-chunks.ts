import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import { Failure } from "@outrider/agent/failure";
import { HttpStatusError } from "../../server-client/http.ts";
import type { ServerClient } from "../../server-client/server-client.ts";
import { joinArchive } from "./archive-parts.ts";
import type { ChunkCache } from "./chunk-cache.ts";
import type { Chunk, ChunkList } from "./chunk-list.ts";

const decompress = promisify(zstdDecompress);
const PREFETCHED = 4;
const MAX_ATTEMPTS = 3;

interface FetchOptions {
  server: ServerClient;
  cache: ChunkCache;
  buildId: string;
  signal: AbortSignal;
  /** Called for each chunk that was not on this worker. */
  onFetched(chunk: Chunk): void;
}

/** Returns an archive that was stored in chunks. Only chunks that are not on this worker come from the server. */
export function fetchArchive(
  { headers, contents }: ChunkList,
  options: FetchOptions,
): AsyncGenerator<Buffer> {
  return joinArchive({ headers: readChunks(headers, options), contents: readChunks(contents, options) });
}

/** Reads the next chunks in advance. */
async function* readChunks(chunks: Chunk[], options: FetchOptions): AsyncGenerator<Buffer> {
  const reading: Promise<Buffer>[] = [];
  for (let next = 0; next < chunks.length || reading.length > 0; ) {
    while (next < chunks.length && reading.length < PREFETCHED) {
      const content = readChunk(chunks[next++] as Chunk, options);
      content.catch(() => {}); // awaited below, in order
      reading.push(content);
    }
    yield (await reading.shift()) as Buffer;
  }
}

async function readChunk(chunk: Chunk, options: FetchOptions): Promise<Buffer> {
  const { sha256, bytes } = chunk;
  const { cache } = options;
  const cached = await cache.read(sha256);
  const data = cached ?? (await fetchChunk(chunk, options));
  const content = await decompress(data, { maxOutputLength: bytes });
  if (content.length !== bytes) throw new Error(`The chunk ${sha256} of the build has an invalid size.`);
  if (!cached) {
    options.onFetched(chunk);
    await cache.add(sha256, data);
  }
  return content;
}

async function fetchChunk(chunk: Chunk, { server, buildId, signal }: FetchOptions): Promise<Buffer> {
  for (let attempt = 1; ; attempt++) {
    const data = await server
      .getBlob(chunk.sha256, signal)
      .then((stream) => readUpTo(stream, chunk.storedBytes))
      .catch((error) => {
        signal.throwIfAborted();
        if (error instanceof HttpStatusError && error.status === 404) throw damaged(buildId, "is missing");
        if (error instanceof HttpStatusError || attempt === MAX_ATTEMPTS) throw error;
        return undefined;
      });
    if (data && createHash("sha256").update(data).digest("hex") === chunk.sha256) return data;
    if (data && attempt === MAX_ATTEMPTS) throw damaged(buildId, "is damaged");
  }
}

/** Reads no more than one byte beyond the expected size. */
async function readUpTo(stream: AsyncIterable<Buffer>, bytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stream) {
    parts.push(part);
    length += part.length;
    if (length > bytes) break;
  }
  return Buffer.concat(parts);
}

function damaged(buildId: string, problem: string): Failure {
  return new Failure(
    "environment_setup_failed",
    `A part of the build ${buildId} ${problem} on the server. Build the environment again, then start a new run.`,
  );
}
