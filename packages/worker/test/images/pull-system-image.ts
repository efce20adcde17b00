import type { SandboxImage, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeImage, push, startRegistry } from "./registry-server.ts";

/** Pulls an image with this layer into a provider that allows loopback addresses. `expose` makes the registry reachable. */
export async function pullSystemImage(
  provider: SandboxProvider,
  layer: Buffer,
  config: object = {},
  expose: (host: string) => Promise<void> = async () => {},
): Promise<SandboxImage> {
  if (!provider.images) throw new Error("This worker cannot use images.");
  const registry = await startRegistry();
  try {
    await expose(registry.host);
    const reference = await push(registry, "acme/system:1", makeImage({ layers: [layer], config }));
    const { signal } = new AbortController();
    const digest = await provider.images.resolve(reference, { signal });
    return await provider.images.pull({ reference, digest }, { signal });
  } finally {
    await registry.close();
  }
}
