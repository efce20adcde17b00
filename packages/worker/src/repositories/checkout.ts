import { posix } from "node:path";
import { quoted } from "../quoted.ts";

export interface CheckoutOptions {
  /** Where the mirror is bound, read-only. */
  mirrorInside: string;
  commit: string;
  /** As resolved. A branch is checked out as such, anything else as a commit without a branch. */
  ref?: string;
  /** Below /workspace. */
  path: string;
  /** What `origin` becomes. */
  url: string;
}

/**
 * The bash script that makes a clone of its own out of the mirror, inside a sandbox: what a repository brings to run
 * on the way, it runs there. Packs are copied as they are, in milliseconds where git's own protocol would take seconds
 * or minutes; a pack that vanishes meanwhile, because the mirror's packs are joined, makes it take the long way.
 * The clone has the whole history, all branches as those of `origin`, and needs the mirror no more.
 */
export function checkoutScript(options: CheckoutOptions): string {
  const { mirrorInside, commit, ref, url } = options;
  const path = posix.join("/workspace", posix.normalize(`/${options.path}`));
  if (options.path.split("/").includes("..") || options.path.includes("\0")) {
    throw new Error(`"${options.path}" is not a path inside the workspace.`);
  }
  if (!/^[0-9a-f]{40,64}$/.test(commit)) throw new Error(`"${commit}" is no commit.`);
  const branch = ref?.startsWith("refs/heads/") ? ref : undefined;
  const remoteBranch = branch?.replace("refs/heads/", "refs/remotes/origin/");
  return `set -euo pipefail
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 LC_ALL=C
export GIT_ALLOW_PROTOCOL=file GIT_NO_LAZY_FETCH=1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_TEMPLATE_DIR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF
mirror=${quoted(mirrorInside)} commit=${commit} path=${quoted(path)} url=${quoted(url)}
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' -c gc.auto=0 "$@"; }
reader='git -c safe.directory=* upload-pack'
if [ -n "$(ls -A -- "$path" 2>/dev/null)" ]; then
  echo "$path is not empty, so no repository can be put there." >&2
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
# A clone follows the branch that the mirror has as its default one. Ours follows none, and has the one branch that was asked for.
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
    ? `git update-ref ${quoted(remoteBranch)} "$commit"
git update-ref ${quoted(branch)} "$commit"
git symbolic-ref HEAD ${quoted(branch)}`
    : `git update-ref --no-deref HEAD "$commit"`
}
git -c advice.detachedHead=false -c checkout.workers=0 reset --quiet --hard
rm -rf .git/FETCH_HEAD .git/ORIG_HEAD .git/logs # the log tells of the mirror, and of nothing that the agent did
`;
}
