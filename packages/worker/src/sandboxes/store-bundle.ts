import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bundle } from "./sandbox.ts";

export interface BundleFile {
  name: string;
  content: Buffer;
  isExecutable?: boolean;
}

/** Stores files below `parent`, in a folder that is named after the hash of their names and contents. */
export function storeBundle(parent: string, target: string, files: BundleFile[]): Bundle {
  const hash = createHash("sha256");
  for (const { name, content, isExecutable = false } of files.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    hash.update(`${JSON.stringify([name, isExecutable, content.length])}\n`).update(content);
  const id = hash.digest("hex");
  const folder = join(parent, id);
  if (existsSync(folder)) return { id, folder, target };
  mkdirSync(parent, { recursive: true });
  const draft = mkdtempSync(join(parent, "new-"));
  for (const { name, content, isExecutable } of files) {
    const path = join(draft, name);
    writeFileSync(path, content);
    chmodSync(path, isExecutable ? 0o755 : 0o644);
  }
  // The Unix accounts of sandboxes must be able to read the files.
  for (const path of [parent, draft]) chmodSync(path, 0o755);
  try {
    renameSync(draft, folder);
  } catch (error) {
    // Another process of this worker was faster.
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return { id, folder, target };
}
