import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TestCluster } from "../../packages/worker/test/kubernetes/test-cluster.ts";
import { readCheckout } from "../../scripts/release/checkout.ts";
import { buildStorageImages, importBase, startDocker } from "../packaging/docker.ts";
import { buildReleaseImages } from "../packaging/release-images.ts";
import { root } from "../process.ts";

const base = "outrider-base:test";

/**
 * Builds the images of a release, and those of PostgreSQL and the S3 server under the names in the chart. Imports them into
 * the cluster. Needs root, apt, debootstrap, Go and iproute2.
 */
export async function importImages(cluster: TestCluster, parent: string): Promise<void> {
  const folder = join(parent, "images");
  mkdirSync(folder);
  const engine = await startDocker(folder);
  try {
    await importBase(engine, folder, base);
    await buildReleaseImages(engine, {
      checkout: readCheckout(root),
      release: join(folder, "release"),
      base,
    });
    await buildStorageImages(engine, folder, base);
    const archive = join(folder, "images.tar");
    const names = ["outrider-server:test", "outrider-worker:test", "postgres:18", "versity/versitygw:v1.8.0"];
    await engine.docker("save", "--output", archive, ...names);
    await cluster.importImage(archive);
  } finally {
    await engine.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
