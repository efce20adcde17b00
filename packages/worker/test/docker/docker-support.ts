import { randomUUID } from "node:crypto";
import { type Engine, openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import type { Owner } from "../../src/sandboxes/docker/labels.ts";
import { importEntries } from "../../src/sandboxes/docker/volumes/system-image.ts";
import { sharedDocker } from "./shared-docker.ts";

export async function openSharedEngine(): Promise<Engine> {
  return await openEngine({ host: await sharedDocker() });
}

/** An installation of its own, so that a test finds only its own objects. */
export const newOwner = (): Owner => ({ installation: `test-${randomUUID()}`, worker: "worker-1" });

/** Imports a small image whose containers cannot be started. */
export async function importEmptyImage(engine: Engine): Promise<string> {
  const entries = [{ path: "mnt", mode: 0o755, content: { type: "folder" as const } }];
  return await importEntries(engine, { name: `outrider-empty:${randomUUID()}`, entries, labels: {} });
}
