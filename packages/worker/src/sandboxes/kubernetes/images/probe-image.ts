import { randomUUID } from "node:crypto";
import { systemChangesPath } from "../../files/programs.ts";
import { type OpenOptions, type Sandbox, SandboxFileError, type SandboxImage } from "../../sandbox.ts";
import { canBeVolume, homeOf } from "../../systems/image-home.ts";
import type { ImageFacts } from "./kubernetes-images.ts";

/** With the time to add a node and to pull the image. */
const probeSeconds = 30n * 60n;
const maxAccountBytes = 2 ** 17;
const maxOsReleaseBytes = 4096;
/** The worker sends a home to each pod. Nodes copy larger ones. */
const maxHomeBytes = 2 ** 16;

/** Opens a sandbox with an image, and reads files of its system as root. */
export async function probeImage(
  open: (options: OpenOptions) => Promise<Sandbox>,
  image: SandboxImage,
  signal: AbortSignal,
): Promise<ImageFacts> {
  signal.throwIfAborted();
  const deadline = process.hrtime.bigint() + probeSeconds * 1_000_000_000n;
  const id = `image-${randomUUID()}`;
  const asRoot = { ...image, user: "root", mayLackShell: true };
  const sandbox = await open({ id, deadline, label: { purpose: "image" }, image: asRoot });
  const close = () => void sandbox.close().catch(() => {}); // reported below
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  try {
    const accounts = await readText(sandbox, "/etc/passwd", maxAccountBytes);
    const osRelease =
      (await readText(sandbox, "/etc/os-release", maxOsReleaseBytes)) ||
      (await readText(sandbox, "/usr/lib/os-release", maxOsReleaseBytes));
    return { accounts, osRelease, home: await readHome(sandbox, homeOf(image.user, accounts), signal) };
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

/** Returns undefined if nodes have to copy the home. */
async function readHome(sandbox: Sandbox, path: string, signal: AbortSignal): Promise<ImageFacts["home"]> {
  if (!canBeVolume(path)) return undefined;
  const { stdout, stderr, ended, kill } = await sandbox.spawn([systemChangesPath, "pack-folder", path], {
    signal,
  });
  stderr.resume();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdout) {
    bytes += chunk.length;
    if (bytes > maxHomeBytes) break;
    chunks.push(chunk);
  }
  if (bytes > maxHomeBytes) await kill();
  const { exitCode } = await ended;
  return exitCode === 0 ? { path, archive: Buffer.concat(chunks).toString("base64") } : undefined;
}
