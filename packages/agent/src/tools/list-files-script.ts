import { posix } from "node:path";

/**
 * Defines shell functions for read-only scripts. `ripgrep` expects the program's path in `$rg`. It searches hidden files,
 * but neither git's own files nor those that a .gitignore file excludes, also outside a repository. It does not follow
 * symbolic links. Nothing in the agent's home or environment configures it.
 *
 * `list folder` prints the files below a folder, each followed by a NUL. Each name starts with the folder.
 */
export const listFilesScript = `
export LC_ALL=C
unset CDPATH
ripgrep() {
  "$rg" --no-config --no-messages --hidden --no-require-git --no-ignore-global --no-ignore-dot --glob "!.git" "$@"
}
list() { ripgrep --files --null -- "$1"; }
`;

/** Normalizes a path so that no program mistakes it for an option. */
export function normalizePath(path: string): string {
  const normalized = posix.normalize(path).replace(/(.)\/$/, "$1");
  return normalized.startsWith("/") || normalized === "." ? normalized : `./${normalized}`;
}

/** Removes the `./` prefix that normalizePath adds. */
export function displayPath(path: string): string {
  return path.replace(/^\.\//, "");
}
