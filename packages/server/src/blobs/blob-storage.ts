import type { Readable } from "node:stream";

/*
 * Where blobs are stored: in a folder (folder.ts) or in a bucket (s3.ts). A blob is named by the SHA-256 of its content, so
 * it never changes. Both implementations name files in the same way, `ab/abcdef…`, so they can be copied with other tools.
 * Storages know nothing about the database; engine/blobs.ts adds that.
 */

export interface BlobStorage {
  /** Where the blobs are, for messages: a path, or `s3://bucket/prefix`. */
  readonly location: string;
  /** The folder that contains all blobs, if they are files. */
  readonly folder?: string;
  /** What one upload holds in memory at most. */
  readonly bufferBytes: number;
  /**
   * Marks the storage as belonging to an installation, unless it belongs to one already, and returns its owner. A folder
   * has no mark.
   */
  claim?(owner: string): Promise<string>;
  /**
   * Stores a blob atomically: it becomes visible only after the content is complete and matches its hash, and after
   * `beforeVisible` has succeeded. Storing a blob that exists succeeds.
   */
  put(sha256: string, content: Readable, options?: PutOptions): Promise<void>;
  /** Opens a blob, or the part of it that `select` returns for its size. */
  open(sha256: string, select?: (size: number) => BlobRange | undefined): Promise<OpenBlob | undefined>;
  stat(sha256: string): Promise<StoredBlob | undefined>;
  /** Deletes blobs, except for those that were stored after `storedBefore`. Missing blobs are ignored. */
  delete(hashes: string[], options?: { storedBefore?: Date }): Promise<void>;
  /** Iterates over the blobs whose hashes start like this, in batches without an order. */
  list(startOfHash?: string): AsyncIterable<StoredBlob[]>;
  /** Deletes what uploads have left behind that began before this time and never finished. Returns their number. */
  deleteAbandonedUploads(before: Date): Promise<number>;
  /** Returns a URL with which a worker downloads a blob for a few minutes, even if the blob does not exist. */
  presignDownload?(sha256: string): Promise<string>;
  /** Returns a URL with which a user downloads a blob within a minute, as a file with this name. */
  presignUserDownload?(sha256: string, file: DownloadedFile): Promise<string>;
  /**
   * Returns a request that stores a blob of this size for a few minutes. The storage accepts no other content. Returns
   * undefined if the storage cannot ensure that.
   */
  presignUpload?(sha256: string, size: number): Promise<DirectUpload | undefined>;
}

export interface DownloadedFile {
  contentType: string;
  /** The value of `Content-Disposition`. */
  disposition: string;
}

export interface DirectUpload {
  url: string;
  /** The headers that the request must have. */
  headers: Record<string, string>;
}

export interface PutOptions {
  /** The size of the content, if it is known. */
  size?: number;
  beforeVisible?(size: number): Promise<void>;
}

/** Both ends are inclusive. */
export interface BlobRange {
  start: number;
  end: number;
}

export interface OpenBlob {
  content: Readable;
  /** The size of the whole blob. */
  size: number;
  range?: BlobRange;
}

export interface StoredBlob {
  sha256: string;
  size: number;
  storedAt: Date;
}

export const isHash = (text: string) => /^[0-9a-f]{64}$/.test(text);

/** Returns the path of a blob below the folder or the prefix. */
export const relativePath = (sha256: string) => `${sha256.slice(0, 2)}/${sha256}`;

export class HashMismatchError extends Error {
  override name = "HashMismatchError";

  constructor() {
    super("The content does not match its SHA-256.");
  }
}

/** Why a storage cannot do what it should. Only `busy` and `unreachable` can pass without a change of the settings. */
export type StorageProblem = "unreachable" | "busy" | "bucket" | "region" | "credentials" | "clock" | "other";

/** The message says what is wrong and what to do, for the operator. */
export class StorageError extends Error {
  override name = "StorageError";
  readonly problem: StorageProblem;

  constructor(problem: StorageProblem, message: string, cause?: unknown) {
    super(message, { cause });
    this.problem = problem;
  }
}
