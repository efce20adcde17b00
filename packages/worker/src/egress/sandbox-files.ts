import { posix } from "node:path";
import { sandboxPaths } from "../sandboxes/paths.ts";
import { type Bundle, type Sandbox, SandboxFileError } from "../sandboxes/sandbox.ts";
import { storeBundle } from "../sandboxes/store-bundle.ts";
import { homeFileMark } from "./presets/preset.ts";
import type { ResolvedAllowlist } from "./presets/presets.ts";
import type { TcpForward } from "./tcp-forwards.ts";

const MAX_HOME_FILE_BYTES = 2 ** 20;

/** What a sandbox needs inside for its network, apart from connections. It contains no secrets. */
export interface SandboxNetworkFiles
  extends Pick<ResolvedAllowlist, "environment" | "files" | "homeFiles" | "distribution"> {
  /** Hosts that programs without a proxy can reach at an address inside. */
  forwards: TcpForward[];
  /** Files to add to the root of an image, by path. */
  imageFiles: Record<string, string>;
}

/**
 * Stores the read-only files that a sandbox needs for its network below `folder`, and returns them as bundles. Sandboxes
 * with the same configuration share the files.
 */
export function networkBundles({ files }: SandboxNetworkFiles, folder: string): Bundle[] {
  const byFolder = Map.groupBy(Object.entries(files), ([path]) => posix.dirname(path));
  return [...byFolder].map(([target, entries]) => {
    const named = entries.map(([path, text]) => ({ name: posix.basename(path), content: Buffer.from(text) }));
    return storeBundle(folder, target, named);
  });
}

/**
 * Returns what a sandbox with an image needs. apt uses the worker's sources if the image is a release of the same
 * distribution, which its `/etc/os-release` says; other releases keep their own sources.
 */
export function withImage(inside: SandboxNetworkFiles, osRelease: string): SandboxNetworkFiles {
  const { distribution } = inside;
  const codename = /^VERSION_CODENAME="?([\w.-]+)"?$/m.exec(osRelease)?.[1];
  if (!distribution || codename !== distribution.codename) return inside;
  return {
    ...inside,
    environment: { ...inside.environment, ...distribution.environment },
    files: { ...inside.files, ...distribution.files },
  };
}

/**
 * Writes the files of the home, which may be outdated ones from a build or a snapshot. A file that a command has written
 * itself stays.
 */
export async function writeHomeFiles(sandbox: Sandbox, { homeFiles }: SandboxNetworkFiles): Promise<void> {
  for (const [name, content] of Object.entries(homeFiles)) {
    const path = `${sandboxPaths.home}/${name}`;
    const existing = await sandbox.read(path, MAX_HOME_FILE_BYTES).catch((error) => {
      return error instanceof SandboxFileError && error.code === "not_found"
        ? undefined
        : Buffer.from(content);
    });
    const isOutdated = existing?.includes(homeFileMark) && existing.toString() !== content;
    if (!existing || isOutdated) await sandbox.write(path, Buffer.from(content));
  }
}

/** Adds the company's certificates to an image, so that packages which update its trust store include them. */
export async function writeImageFiles(sandbox: Sandbox, { imageFiles }: SandboxNetworkFiles): Promise<void> {
  for (const [path, content] of Object.entries(imageFiles))
    await sandbox.write(path, Buffer.from(content), { asRoot: true });
}
