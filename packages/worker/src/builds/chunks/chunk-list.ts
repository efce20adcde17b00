import { findExcess } from "@outrider/agent/json-meter";
import type { ArchivePart } from "./archive-parts.ts";
import { chunkBytes } from "./chunker.ts";

/** A piece of an archive, which is stored as a zstd frame. */
export interface Chunk {
  /** The hash of the frame. */
  sha256: string;
  /** The size of the frame. */
  storedBytes: number;
  /** The size of the content. */
  bytes: number;
}

/** What a build's archive consists of, in order. */
export type ChunkList = Record<ArchivePart, Chunk[]>;

const FORMAT = "outrider-chunks-1";
/** Enough for archives of several hundred gigabytes. */
export const maxListBytes = 32 * 2 ** 20;
const maxChunks = 200_000;
/** zstd makes random data a little larger. */
const maxStoredBytes = chunkBytes.max + 2 ** 16;

export function formatChunkList(list: ChunkList): Buffer {
  const rows = (chunks: Chunk[]) =>
    chunks.map(({ sha256, storedBytes, bytes }) => [sha256, storedBytes, bytes]);
  const { headers, contents } = list;
  return Buffer.from(JSON.stringify({ format: FORMAT, headers: rows(headers), contents: rows(contents) }));
}

/** Returns whether a build's blob starts like a list of chunks. Otherwise it is a compressed archive. */
export function isChunkList(firstBytes: Buffer): boolean {
  return firstBytes[0] === "{".charCodeAt(0);
}

export function parseChunkList(data: Buffer): ChunkList {
  if (data.length > maxListBytes || findExcess(data, { depth: 4, values: 5 * maxChunks }))
    throw invalid("it is too large");
  const json = JSON.parse(data.toString());
  if (json.format !== FORMAT) throw invalid(`its format is not ${FORMAT}; upgrade this worker`);
  return { headers: chunksOf(json.headers), contents: chunksOf(json.contents) };
}

function chunksOf(rows: unknown): Chunk[] {
  if (!Array.isArray(rows)) throw invalid("it has no chunks");
  return rows.map((row) => {
    const [sha256, storedBytes, bytes] = Array.isArray(row) ? row : [];
    const isValid =
      typeof sha256 === "string" &&
      /^[0-9a-f]{64}$/.test(sha256) &&
      isSize(storedBytes, maxStoredBytes) &&
      isSize(bytes, chunkBytes.max);
    if (!isValid) throw invalid("a chunk has no valid hash and size");
    return { sha256, storedBytes, bytes };
  });
}

const isSize = (value: unknown, max: number) =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) <= max;

function invalid(reason: string): Error {
  return new Error(`The build's list of chunks is invalid: ${reason}.`);
}
