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
  usesLfs: boolean;
}

export interface CheckoutOptions {
  commit: string;
  /** The resolved ref. A branch is checked out as a branch, anything else as a detached HEAD. */
  ref?: string;
  /** Relative to /workspace. */
  path: string;
  /** The URL of `origin`. */
  url: string;
  /** Parents precede their children. The worker sends their mirrors in this order, after that of the repository. */
  submodules?: SubmoduleCheckout[];
  usesLfs?: boolean;
  /** The folders to check out. The mirror is then partial. */
  sparsePaths?: string[];
}

/**
 * Returns the bash script that makes a clone from what the worker sends (mirror-archive.ts). It runs inside a sandbox,
 * so that any program that a repository makes git run is confined to it. The clone has the full history and all
 * branches under `origin`, and does not depend on the mirror. Submodules are cloned in the same way, and as `git
 * submodule update --init` would leave them.
 */
export function checkoutScript(options: CheckoutOptions): string {
  const { commit, ref, url, submodules = [], usesLfs = false, sparsePaths } = options;
  const path = workspacePath(options.path);
  const branch = ref?.startsWith("refs/heads/") ? ref : undefined;
  const remoteBranch = branch?.replace("refs/heads/", "refs/remotes/origin/");
  return `${shellFunctions}
path=${quote(path)} commit=${commitId(commit)}
if [ -n "$(ls -A -- "$path" 2>/dev/null)" ]; then
  echo "$path is not empty. Choose an empty folder for the repository." >&2
  exit 1
fi
init "$commit" "$path" "$path/.git"
cd -- "$path"
receive "$path/.git"
fill 0 ${quote(url)}
${sparsePaths ? `use_sparse ${sparsePaths.map(quote).join(" ")}` : ""}
${usesLfs ? "use_lfs 0" : ""}
${
  branch && remoteBranch
    ? `git update-ref ${quote(remoteBranch)} "$commit"
git update-ref ${quote(branch)} "$commit"
git symbolic-ref HEAD ${quote(branch)}`
    : `git update-ref --no-deref HEAD "$commit"`
}
write_files
${submoduleCalls(path, submodules)}
`;
}

/** Returns the commands that check out or update submodules. */
export function submoduleCalls(root: string, submodules: SubmoduleCheckout[]): string {
  const calls = submodules.map((submodule, index) => {
    const { commit, url, usesLfs } = submodule;
    const { parent, folder, name } = submoduleFolders(root, submodule);
    const args = [parent, folder, name, commitId(commit), url, String(index + 1), usesLfs ? "lfs" : ""];
    return `submodule ${args.map(quote).join(" ")}`;
  });
  return calls.join("\n");
}

export function submoduleFolders(root: string, { path, parent, name }: SubmoduleCheckout) {
  return {
    parent: posix.join(root, requireInside(parent)),
    folder: posix.join(root, requireInside(path)),
    name: requireInside(name),
  };
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
