import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sandboxPaths } from "../sandboxes/local/bubblewrap.ts";
import { type Mount, type Sandbox, SandboxFileError } from "../sandboxes/sandbox.ts";
import type { SandboxNetworkFiles } from "./egress-session.ts";

/**
 * Stores the read-only files that a sandbox needs for its network below `folder`, and returns the mounts that show them
 * inside. Sandboxes with the same configuration share the files.
 */
export function networkMounts({ files }: SandboxNetworkFiles, folder: string): Mount[] {
  return Object.entries(files).map(([target, content]) => {
    const source = join(folder, createHash("sha256").update(content).digest("hex").slice(0, 32));
    if (!existsSync(source)) {
      mkdirSync(folder, { recursive: true });
      // The Unix accounts of sandboxes must be able to read the files.
      chmodSync(folder, 0o755);
      writeFileSync(`${source}.${process.pid}`, content, { mode: 0o644 });
      renameSync(`${source}.${process.pid}`, source);
    }
    return { source, target };
  });
}

/** Writes the files of the home that do not exist yet. A setup command may have written its own. */
export async function writeHomeFiles(sandbox: Sandbox, { homeFiles }: SandboxNetworkFiles): Promise<void> {
  for (const [name, content] of Object.entries(homeFiles)) {
    const path = `${sandboxPaths.home}/${name}`;
    const isMissing = await sandbox.read(path, 1).then(
      () => false,
      (error) => error instanceof SandboxFileError && error.code === "not_found",
    );
    if (isMissing) await sandbox.write(path, Buffer.from(content));
  }
}
