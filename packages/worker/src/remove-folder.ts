import { execFile } from "node:child_process";
import { lstat, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { enterIdNamespace, openIdNamespace } from "./id-namespace.ts";

const run = promisify(execFile);

/** The folder of a sandbox whose files are in a disk image has about fifteen entries. */
const maxEntries = 100;

/**
 * Removes a folder that no process is using. It runs `rm` and `chmod`, which descend one level at a time: a hostile
 * tree may be deeper than the longest path, and its folders may be inaccessible even to their owner. Starting a program
 * takes longer than removing a few files, so small trees are removed without.
 */
export async function removeFolder(folder: string): Promise<void> {
  if (await removeSmallFolder(folder)) return;
  const options = { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, cwd: "/" };
  const remove = () => run("rm", ["-rf", "--one-file-system", "--", folder], options);
  await remove().catch(async () => {
    await run("chmod", ["-R", "u+rwX", "--", folder], options).catch(() => {});
    await remove().catch((error) => removeImageFiles(folder, error));
  });
}

/** Returns false if something is left, for example because the tree is large or a folder is inaccessible. */
async function removeSmallFolder(root: string): Promise<boolean> {
  let count = 0;
  const remove = async (folder: string, device: number): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true });
    count += entries.length;
    if (count > maxEntries) throw new Error("The folder has many entries.");
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) await unlink(path);
      else if ((await lstat(path)).dev === device) await remove(path, device);
      else throw new Error("The folder contains another file system.");
    }
    await rmdir(folder);
  };
  try {
    const status = await lstat(root);
    if (!status.isDirectory()) return false;
    await remove(root, status.dev);
    return true;
  } catch {
    return false;
  }
}

/** The files of images belong to ids that only root in the worker's user namespace has. */
async function removeImageFiles(folder: string, error: unknown): Promise<void> {
  if (process.getuid?.() === 0) throw error;
  const args = [...enterIdNamespace(await openIdNamespace()), "rm", "-rf", "--one-file-system", "--", folder];
  await run("nsenter", args, { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, cwd: "/" });
}
