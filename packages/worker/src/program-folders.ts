import { lstatSync, readlinkSync } from "node:fs";

const programFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Returns the options with which bubblewrap mounts this machine's programs and libraries read-only. */
export function programFolderArgs(): string[] {
  return programFolders.flatMap(bindProgramFolder);
}

/** On most distributions, /bin and similar paths are symlinks into /usr; on some, they are still folders. */
function bindProgramFolder(path: string): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return [];
  return stat.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}
