import { posix } from "node:path";
import { quote } from "../quote.ts";

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
}

/**
 * Returns the bash script that clones the mirror. It runs inside a sandbox, so that any program that a repository makes
 * git run is confined to it. The script copies packs as files, which takes milliseconds, whereas git's protocol would
 * take seconds or minutes. If a pack disappears because the mirror is being repacked, the script falls back to a fetch.
 * The clone has the full history and all branches under `origin`, and does not depend on the mirror.
 */
export function checkoutScript(options: CheckoutOptions): string {
  const { mirrorPath, commit, ref, url } = options;
  const path = posix.join("/workspace", posix.normalize(`/${options.path}`));
  if (options.path.split("/").includes("..") || options.path.includes("\0")) {
    throw new Error(`"${options.path}" is not a path inside the workspace.`);
  }
  if (!/^[0-9a-f]{40,64}$/.test(commit)) throw new Error(`"${commit}" is not a commit id.`);
  const branch = ref?.startsWith("refs/heads/") ? ref : undefined;
  const remoteBranch = branch?.replace("refs/heads/", "refs/remotes/origin/");
  return `set -euo pipefail
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 LC_ALL=C
export GIT_ALLOW_PROTOCOL=file GIT_NO_LAZY_FETCH=1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_TEMPLATE_DIR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF
mirror=${quote(mirrorPath)} commit=${commit} path=${quote(path)} url=${quote(url)}
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' -c gc.auto=0 "$@"; }
reader='git -c safe.directory=* upload-pack'
if [ -n "$(ls -A -- "$path" 2>/dev/null)" ]; then
  echo "$path is not empty. Choose an empty folder for the repository." >&2
  exit 1
fi
mkdir -p -- "$path"
fresh() { find "$path" -mindepth 1 -delete; }
copy() { git clone --quiet --local --no-hardlinks --no-checkout --template= --upload-pack="$reader" -- "$mirror" "$path"; }
fetch() {
  fresh
  git init --quiet --template= --object-format=${commit.length === 64 ? "sha256" : "sha1"} -- "$path"
  cd -- "$path"
  git remote add origin "$mirror"
  git fetch --quiet --upload-pack="$reader" -- origin '+refs/heads/*:refs/remotes/origin/*' '+refs/tags/*:refs/tags/*' "$commit"
}
copy 2>/dev/null || fetch
cd -- "$path"
git remote set-url origin "$url"
# git clone tracks the mirror's default branch. This removes it, so that the clone has only the requested branch.
default=$(git symbolic-ref --quiet HEAD || true)
if [ -n "$default" ]; then
  git config --remove-section "branch.\${default#refs/heads/}" 2>/dev/null || true
  git update-ref -d "$default"
fi
default=$(git --git-dir="$mirror" symbolic-ref --quiet HEAD || true)
default=refs/remotes/origin/\${default#refs/heads/}
if git rev-parse --quiet --verify "$default" >/dev/null; then git symbolic-ref refs/remotes/origin/HEAD "$default"; fi
${
  branch && remoteBranch
    ? `git update-ref ${quote(remoteBranch)} "$commit"
git update-ref ${quote(branch)} "$commit"
git symbolic-ref HEAD ${quote(branch)}`
    : `git update-ref --no-deref HEAD "$commit"`
}
git -c advice.detachedHead=false -c checkout.workers=0 reset --quiet --hard
rm -rf .git/FETCH_HEAD .git/ORIG_HEAD .git/logs # the reflog mentions the mirror
`;
}
