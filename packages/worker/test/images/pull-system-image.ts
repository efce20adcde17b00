import type { SandboxImage, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeImage, push, startRegistry } from "./registry-server.ts";

/** Pulls an image with this layer into a provider that allows loopback addresses. */
export async function pullSystemImage(
  provider: SandboxProvider,
  layer: Buffer,
  config: object = {},
): Promise<SandboxImage> {
  if (!provider.images) throw new Error("This worker cannot use images.");
  const registry = await startRegistry();
  try {
    const reference = await push(registry, "acme/system:1", makeImage({ layers: [layer], config }));
    const { signal } = new AbortController();
    const digest = await provider.images.resolve(reference, { signal });
    return await provider.images.pull({ reference, digest }, { signal });
  } finally {
    await registry.close();
  }
}
