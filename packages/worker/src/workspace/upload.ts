import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { HashingStream } from "../hashing-stream.ts";
import type { ServerClient } from "../server-client/server-client.ts";

interface UploadOptions {
  server: ServerClient;
  /**
   * The folder for the temporary file, which is needed because a blob's hash must be known before the upload starts.
   */
  folder: string;
  signal: AbortSignal;
}

/** Uploads a stream as a blob. */
export async function uploadStream(
  content: [Readable, ...Transform[]],
  { server, folder, signal }: UploadOptions,
): Promise<{ sha256: string; size_bytes: number }> {
  const file = join(folder, `${randomUUID()}.part`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    const hashing = new HashingStream();
    await pipeline([...content, hashing, createWriteStream(file, { mode: 0o600 })], { signal });
    const stored = hashing.result();
    await server.putBlob(file, stored.sha256, signal);
    return stored;
  } finally {
    await rm(file, { force: true });
  }
}
