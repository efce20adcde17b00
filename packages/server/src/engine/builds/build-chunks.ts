import type { BuildChunksRequest } from "@outrider/contract/worker/build";
import { touchBlobs } from "../../store/blobs.ts";
import { insertBuildChunks } from "../../store/build-chunks.ts";
import type { Tx } from "../../store/connection/db.ts";
import type { Blobs } from "../blobs.ts";
import type { RunPolicy } from "../runs/run-policy.ts";
import { requireLease } from "./builds.ts";

/**
 * Records chunks of a build in progress, and returns those that the worker must upload.
 *
 * A chunk that is not returned stays stored for as long as the build exists: the reference is recorded in the same
 * transaction that locks the chunk's row. If garbage collection has locked the row first, this waits until the row is
 * deleted, and returns the chunk.
 */
export async function recordChunks(
  tx: Tx,
  { policy, blobs }: { policy: RunPolicy; blobs: Blobs },
  buildId: string,
  { token, chunks }: BuildChunksRequest,
): Promise<string[]> {
  await requireLease(tx, policy, buildId, token);
  await insertBuildChunks(tx, buildId, chunks);
  const tracked = new Set(await touchBlobs(tx, chunks));
  // A row can be older than its file, or have lost it.
  const isStored = await Promise.all(
    chunks.map(async (sha256) => tracked.has(sha256) && (await blobs.has(sha256))),
  );
  return chunks.filter((_, index) => !isStored[index]);
}
