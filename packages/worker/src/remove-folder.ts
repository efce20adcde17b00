import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { enterIdNamespace, openIdNamespace } from "./id-namespace.ts";

const run = promisify(execFile);

/**
 * Removes a folder that no process is using. It runs `rm` and `chmod`, which descend one level at a time: a hostile
 * tree may be deeper than the longest path, and its folders may be inaccessible even to their owner.
 */
export async function removeFolder(folder: string): Promise<void> {
  const options = { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, cwd: "/" };
  const remove = () => run("rm", ["-rf", "--one-file-system", "--", folder], options);
  await remove().catch(async () => {
    await run("chmod", ["-R", "u+rwX", "--", folder], options).catch(() => {});
    await remove().catch((error) => removeImageFiles(folder, error));
  });
}

/** The files of images belong to ids that only root in the worker's user namespace has. */
async function removeImageFiles(folder: string, error: unknown): Promise<void> {
  if (process.getuid?.() === 0) throw error;
  const args = [...enterIdNamespace(await openIdNamespace()), "rm", "-rf", "--one-file-system", "--", folder];
  await run("nsenter", args, { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, cwd: "/" });
}
