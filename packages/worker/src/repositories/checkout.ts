import { posix } from "node:path";
import { quote } from "../quote.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";
import { shellFunctions } from "./checkout-functions.ts";

/** A submodule to check out. Paths are relative to the folder of the repository. */
export interface SubmoduleCheckout {
  path: string;
  /** The path of the repository or submodule that contains it. Empty for the repository itself. */
  parent: string;
  name: string;
  url: string;
  commit: string;
  mirrorPath: string;
  /** Whether the mirror contains Git LFS files of the commit. */
  usesLfs: boolean;
}

export interface CheckoutOptions {
  /** The mirror's read-only mount point inside the sandbox. */
  mirrorPath: string;
  commit: string;
  /** The resolved ref. A branch is checked out as a branch, anything else as a detached HEAD. */
  ref?: string;
  /** Relative to /workspace. */
  path: string;
  /** The URL of `origin`. */
  url: string;
  /** Parents precede their children. */
  submodules?: SubmoduleCheckout[];
  /** Whether the mirror contains Git LFS files of the commit. */
  usesLfs?: boolean;
  /** The folders to check out. The mirror is then partial. */
  sparsePaths?: string[];
}

/**
 * Returns the bash script that clones the mirror. It runs inside a sandbox, so that any program that a repository makes
 * git run is confined to it. The script copies packs as files, which takes milliseconds, whereas git's protocol would
 * take seconds or minutes. If a pack disappears because the mirror is being repacked, the script falls back to a fetch.
 * The clone has the full history and all branches under `origin`, and does not depend on the mirror. Submodules are
 * cloned in the same way, and as `git submodule update --init` would leave them.
 */
export function checkoutScript(options: CheckoutOptions): string {
  const { mirrorPath, commit, ref, url, submodules = [], usesLfs = false, sparsePaths } = options;
  const path = workspacePath(options.path);
  const branch = ref?.startsWith("refs/heads/") ? ref : undefined;
  const remoteBranch = branch?.replace("refs/heads/", "refs/remotes/origin/");
  return `${shellFunctions}
partial=${sparsePaths ? "yes" : ""}
path=${quote(path)} commit=${commitId(commit)}
if [ -n "$(ls -A -- "$path" 2>/dev/null)" ]; then
  echo "$path is not empty. Choose an empty folder for the repository." >&2
  exit 1
fi
clone ${quote(mirrorPath)} "$commit" "$path" ${quote(url)} "$path/.git"
${sparsePaths ? `use_sparse ${sparsePaths.map(quote).join(" ")}` : ""}
${usesLfs ? `use_lfs ${quote(mirrorPath)}` : ""}
${
  branch && remoteBranch
    ? `git update-ref ${quote(remoteBranch)} "$commit"
git update-ref ${quote(branch)} "$commit"
git symbolic-ref HEAD ${quote(branch)}`
    : `git update-ref --no-deref HEAD "$commit"`
}
write_files
partial=
${submodules.map((submodule) => submoduleCall(path, submodule)).join("\n")}
`;
}

/** Returns the command that checks out or updates one submodule. */
export function submoduleCall(root: string, submodule: SubmoduleCheckout): string {
  const { path, parent, name, commit, url, mirrorPath, usesLfs } = submodule;
  const folder = posix.join(root, requireInside(path));
  const parentFolder = posix.join(root, requireInside(parent));
  const args = [
    parentFolder,
    folder,
    requireInside(name),
    commitId(commit),
    url,
    mirrorPath,
    usesLfs ? "lfs" : "",
  ];
  return `submodule ${args.map(quote).join(" ")}`;
}

export function workspacePath(path: string): string {
  return posix.join(sandboxPaths.workspace, posix.normalize(`/${requireInside(path)}`));
}

function requireInside(path: string): string {
  if (!path.split("/").includes("..") && !path.includes("\0")) return path;
  throw new Error(`"${path}" is not a path inside the workspace.`);
}

function commitId(commit: string): string {
  if (/^[0-9a-f]{40,64}$/.test(commit)) return commit;
  throw new Error(`"${commit}" is not a commit id.`);
}
