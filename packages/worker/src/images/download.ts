import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { HttpResponse } from "@outrider/agent/mcp/http";
import { corrupt, unreachable } from "./image-error.ts";
import type { Descriptor } from "./manifest.ts";
import { readChunks } from "./read-body.ts";
import type { Registry } from "./registry.ts";
import { isWorthRetrying } from "./registry-errors.ts";

const MAX_FAILURES = 5;
/** A connection that breaks after this much does not count as failed, so that slow networks can finish a download. */
const PROGRESS_BYTES = 2 ** 20;

export interface DownloadOptions {
  registry: Registry;
  blob: Descriptor;
  /** The file to write. */
  path: string;
  signal: AbortSignal;
  onProgress?: (bytes: number) => void;
  /** How long to wait before the first retry. */
  retryMs?: number;
}

/** Downloads a blob to a file and verifies its size and digest. Continues where a broken connection stopped. */
export async function downloadBlob(options: DownloadOptions): Promise<void> {
  const { registry, blob, path, signal, onProgress, retryMs = 1_000 } = options;
  await using file = await open(path, "w", 0o600);
  let hash = createHash("sha256");
  let received = 0;
  const receive = async () => {
    const response = await registry.request(`blobs/${blob.digest}`, { offset: received });
    if (received > 0 && !continuesAt(response, received)) {
      await file.truncate(0);
      hash = createHash("sha256");
      received = 0;
    }
    for await (const chunk of readChunks(response.body)) {
      if (received + chunk.length > blob.size)
        throw corrupt(`The registry sent more than the ${blob.size} bytes of the layer ${blob.digest}.`);
      hash.update(chunk);
      await file.write(chunk, 0, chunk.length, received);
      received += chunk.length;
      onProgress?.(received);
    }
    if (received < blob.size) throw unreachable("The registry closed the connection too early.");
  };

  for (let failures = 0; ; ) {
    const before = received;
    try {
      await receive();
      break;
    } catch (error) {
      signal.throwIfAborted();
      if (!isWorthRetrying(error)) throw error;
      failures = received - before >= PROGRESS_BYTES ? 1 : failures + 1;
      if (failures === MAX_FAILURES)
        throw unreachable(`The download of the layer ${blob.digest} failed: ${(error as Error).message}`, {
          cause: error,
        });
      await pause(retryMs * 2 ** (failures - 1), undefined, { signal });
    }
  }
  if (`sha256:${hash.digest("hex")}` !== blob.digest)
    throw corrupt(`The registry sent a layer whose content does not match its digest ${blob.digest}.`);
}

/** A server may ignore the range and send everything again. */
function continuesAt({ status, header }: HttpResponse, offset: number): boolean {
  return status === 206 && (header("content-range") ?? "").startsWith(`bytes ${offset}-`);
}
