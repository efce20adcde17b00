/**
 * Pushes images to a registry, as the distribution specification describes it: each blob that the registry does not have in
 * the repository, and then the manifest. The registry verifies the digests.
 */
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { ImageError } from "./image-error.ts";
import type { Descriptor } from "./manifest.ts";
import type { Registry } from "./registry.ts";
import { isTemporary, isWorthRetrying } from "./registry-errors.ts";

const maxAttempts = 4;
const blobType = "application/octet-stream";

export interface PushBlobOptions {
  /** With the scope `pull,push`. */
  registry: Registry;
  blob: Descriptor;
  /** Called for each attempt. */
  open(): AsyncIterable<Buffer>;
  /** A repository of the same registry that has the blob, so that nothing is transferred. */
  mountFrom?: string | undefined;
  signal: AbortSignal;
  /** How long to wait before the first retry. */
  retryMs?: number;
}

/** Uploads a blob, unless the repository has it. Starts again after a temporary error. */
export async function pushBlob(options: PushBlobOptions): Promise<void> {
  const { registry, blob, signal, retryMs = 1_000 } = options;
  if (await hasBlob(registry, blob)) return;
  for (let attempt = 1; ; attempt++) {
    try {
      return await upload(options);
    } catch (error) {
      signal.throwIfAborted();
      if (attempt === maxAttempts || !(isTemporary(error) || isWorthRetrying(error))) throw error;
      await pause(retryMs * 2 ** (attempt - 1), undefined, { signal });
    }
  }
}

async function hasBlob(registry: Registry, { digest }: Descriptor): Promise<boolean> {
  try {
    const { body } = await registry.request(`blobs/${digest}`, { method: "HEAD" });
    body.destroy();
    return true;
  } catch (error) {
    if (error instanceof ImageError && error.code === "not_found") return false;
    throw error;
  }
}

async function upload({ registry, blob, open, mountFrom }: PushBlobOptions): Promise<void> {
  const mount =
    mountFrom === undefined ? "" : `?${new URLSearchParams({ mount: blob.digest, from: mountFrom })}`;
  const started = await registry.request(`blobs/uploads/${mount}`, { method: "POST" });
  started.body.destroy();
  // A registry that cannot mount the blob starts an upload instead.
  if (started.status === 201 && mountFrom !== undefined) return;
  const sent = await registry.request(registry.locationOf(started), {
    ...{ method: "PATCH", isSentOnce: true },
    body: { type: blobType, size: blob.size, open },
  });
  sent.body.destroy();
  const location = registry.locationOf(sent);
  location.searchParams.set("digest", blob.digest);
  const stored = await registry.request(location, {
    ...{ method: "PUT", isSentOnce: true },
    body: { type: blobType, size: 0, open: () => chunksOf(Buffer.alloc(0)) },
  });
  stored.body.destroy();
}

/** Uploads a small blob, and returns its descriptor. */
export async function pushBytes(
  bytes: Buffer,
  options: Pick<PushBlobOptions, "registry" | "signal" | "retryMs">,
): Promise<Descriptor> {
  const blob = { digest: digestOfBytes(bytes), size: bytes.length };
  await pushBlob({ ...options, blob, open: () => chunksOf(bytes) });
  return blob;
}

/** Stores a manifest under a tag, and returns its digest. */
export async function pushManifest(
  registry: Registry,
  tag: string,
  type: string,
  bytes: Buffer,
): Promise<string> {
  const { body } = await registry.request(`manifests/${tag}`, {
    method: "PUT",
    body: { type, size: bytes.length, open: () => chunksOf(bytes) },
  });
  body.destroy();
  return digestOfBytes(bytes);
}

const digestOfBytes = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
}
