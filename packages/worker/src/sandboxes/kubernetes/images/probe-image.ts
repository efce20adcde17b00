import { randomUUID } from "node:crypto";
import { type OpenOptions, type Sandbox, SandboxFileError, type SandboxImage } from "../../sandbox.ts";
import type { ImageFacts } from "./kubernetes-images.ts";

/** With the time to add a node and to pull the image. */
const probeSeconds = 30n * 60n;
const maxAccountBytes = 2 ** 17;
const maxOsReleaseBytes = 4096;

/** Opens a sandbox with an image, and reads files of its system. */
export async function probeImage(
  open: (options: OpenOptions) => Promise<Sandbox>,
  image: SandboxImage,
  signal: AbortSignal,
): Promise<ImageFacts> {
  signal.throwIfAborted();
  const deadline = process.hrtime.bigint() + probeSeconds * 1_000_000_000n;
  const id = `image-${randomUUID()}`;
  const sandbox = await open({ id, deadline, label: { purpose: "image" }, image });
  const close = () => void sandbox.close().catch(() => {}); // reported below
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  try {
    const accounts = await readText(sandbox, "/etc/passwd", maxAccountBytes);
    const osRelease =
      (await readText(sandbox, "/etc/os-release", maxOsReleaseBytes)) ||
      (await readText(sandbox, "/usr/lib/os-release", maxOsReleaseBytes));
    return { accounts, osRelease };
  } finally {
    signal.removeEventListener("abort", close);
    await sandbox.close();
  }
}

async function readText(sandbox: Sandbox, path: string, limit: number): Promise<string> {
  try {
    return (await sandbox.read(path, limit)).toString("latin1");
  } catch (error) {
    if (error instanceof SandboxFileError && error.code !== "failed") return "";
    throw error;
  }
}
