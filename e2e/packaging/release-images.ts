import { join } from "node:path";
import { bundleName } from "../../scripts/release/bundle.ts";
import type { Checkout } from "../../scripts/release/checkout.ts";
import { makeRelease } from "../../scripts/release/main.ts";
import type { Docker } from "./docker.ts";

/**
 * Makes a release in the folder, and builds the images of server and worker from it, as docs/install.md describes. They are
 * `outrider-server:test` and `outrider-worker:test`.
 */
export async function buildReleaseImages(
  { docker }: Docker,
  { checkout, release, base }: { checkout: Checkout; release: string; base: string },
): Promise<void> {
  makeRelease(checkout, release);
  for (const name of ["server", "worker"]) {
    const file = join(checkout.root, `packaging/${name}.Dockerfile`);
    const inputs = [`BASE=${base}`, `BUNDLE=${bundleName(checkout)}.tar.gz`];
    const options = ["--network", "none", ...inputs.flatMap((input) => ["--build-arg", input])];
    const tag = `outrider-${name}:test`;
    await docker("build", "--quiet", "--file", file, ...options, "--tag", tag, release);
  }
}
