import { quote } from "../quote.ts";
import { lfsFilter } from "./lfs/lfs-filter.ts";

/**
 * Bash functions that check out repositories inside a sandbox, from what the worker sends to their stdin. They
 * need neither a network nor a credential, and run no hook or program of the repository.
 */
export const shellFunctions = `set -euo pipefail
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 LC_ALL=C
export GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_TEMPLATE_DIR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' -c gc.auto=0 "$@"; }
incoming=

# receive GIT_DIR: extracts what the worker sends (mirror-archive.ts) into a folder of the git directory.
receive() {
  incoming=$1/outrider-incoming
  rm -rf -- "$incoming"
  mkdir -- "$incoming"
  trap 'rm -rf -- "$incoming"' EXIT
  tar --no-same-owner -C "$incoming" -xf -
}

# init COMMIT PATH GIT_DIR: creates an empty repository.
init() {
  local format=sha1 separate=()
  if [ "\${#1}" = 64 ]; then format=sha256; fi
  if [ "$3" != "$2/.git" ]; then separate=(--separate-git-dir="$3"); fi
  mkdir -p -- "$2" "$(dirname -- "$3")"
  git init --quiet --template= --object-format="$format" "\${separate[@]}" -- "$2"
}

# fill NUMBER URL: makes the empty repository in the current folder a clone without files, from what was received.
fill() {
  local sent=$incoming/$1 own default
  own=$(git rev-parse --absolute-git-dir)
  mv -- "$sent/packed-refs" "$own/"
  move_packs "$sent" "$own"
  git remote add origin "$2"
  read -r default < "$sent/default" || true
  default=refs/remotes/origin/\${default#refs/heads/}
  if git rev-parse --quiet --verify "$default" >/dev/null; then git symbolic-ref refs/remotes/origin/HEAD "$default"; fi
}

# move_packs SENT GIT_DIR: git finds a pack by its index, which is moved last.
move_packs() {
  local type pack
  mkdir -p -- "$2/objects/pack"
  for type in promisor pack rev idx; do
    for pack in "$1"/pack/*."$type"; do
      if [ -e "$pack" ]; then mv -f -- "$pack" "$2/objects/pack/"; fi
    done
  done
}

# Writes the files of HEAD.
write_files() {
  git -c advice.detachedHead=false -c checkout.workers=0 reset --quiet --hard
  local own
  own=$(git rev-parse --absolute-git-dir)
  rm -rf -- "$own/FETCH_HEAD" "$own/ORIG_HEAD" "$own/logs"
}

# update NUMBER COMMIT: updates the clone in the current folder. Untracked files are preserved. Changes to tracked files
# are preserved too, unless the new commit changes the same files.
update() {
  move_packs "$incoming/$1" "$(git rev-parse --absolute-git-dir)"
  git update-ref --stdin < "$incoming/$1/updates"
  git checkout --quiet --detach "$2" 2> /dev/null || git checkout --quiet --force --detach "$2"
}

# print_known NUMBER FOLDER GIT_DIR: prints which objects a clone has (known-objects.ts). GIT_DIR is relative to that of the
# folder. Only a complete history can be relied on.
print_known() {
  local own
  own=$(cd -- "$2" 2> /dev/null && git rev-parse --absolute-git-dir 2> /dev/null) || return 0
  own=$own/$3
  if [ ! -e "$own/HEAD" ]; then return 0; fi
  echo "$1 clone"
  if [ ! -e "$own/shallow" ]; then git --git-dir="$own" for-each-ref --format="$1 commit %(objectname)" || true; fi
  find "$own/objects/pack" -maxdepth 1 -name 'pack-*.idx' -printf "$1 pack %f\\n" 2> /dev/null | sed 's/ pack-/ /; s/[.]idx$//' || true
  find "$own/lfs/objects" -type f -printf "$1 lfs %f\\n" 2> /dev/null || true
}

# use_sparse PATH...: limits the clone in the current folder to these folders. It has only the files that they need, so
# git gets a remote for missing files that explains why they are missing.
use_sparse() {
  git config core.repositoryformatversion 1
  git config extensions.partialClone sparse-checkout
  git config remote.sparse-checkout.promisor true
  git config remote.sparse-checkout.skipFetchAll true
  git config remote.sparse-checkout.url file:///dev/null
  git config remote.sparse-checkout.uploadpack 'echo "This checkout is sparse: it has only files of its folders at the checked-out commit. Other folders and older versions of files are not available." >&2; exit 1 #'
  git sparse-checkout set --cone --skip-checks "$@"
}

# use_lfs NUMBER: lets git replace pointers with Git LFS files in the current clone, and adds those that were received.
use_lfs() {
  local own
  own=$(git rev-parse --absolute-git-dir)
  mkdir -p -- "$own/lfs/objects"
  if [ -d "$incoming/$1/lfs/objects" ]; then cp -rlf -- "$incoming/$1/lfs/objects/." "$own/lfs/objects/"; fi
  printf '%s' ${quote(lfsFilter)} > "$own/lfs/outrider-filter"
  for direction in clean smudge; do
    git config "filter.lfs.$direction" 'sh "$(git rev-parse --git-common-dir)/lfs/outrider-filter" '"$direction %f"
  done
  git config filter.lfs.required true
}

# submodule PARENT PATH NAME COMMIT URL NUMBER LFS: checks out a submodule, or updates it if it exists.
submodule() {
  local parent=$1 path=$2 name=$3 commit=$4 url=$5 number=$6 lfs=$7 git_dir
  cd -- "$parent"
  git_dir=$(git rev-parse --absolute-git-dir)/modules/$name
  git config "submodule.$name.url" "$url"
  git config "submodule.$name.active" true
  if [ -e "$git_dir/HEAD" ]; then
    mkdir -p -- "$path"
    link_submodule
    cd -- "$path"
    git remote set-url origin "$url"
    if [ -n "$lfs" ]; then use_lfs "$number"; fi
    update "$number" "$commit"
    return
  fi
  if [ -n "$(ls -A -- "$path" 2>/dev/null)" ]; then
    echo "$path is not empty, so that the submodule cannot be checked out there." >&2
    exit 1
  fi
  init "$commit" "$path" "$git_dir"
  cd -- "$path"
  fill "$number" "$url"
  link_submodule
  if [ -n "$lfs" ]; then use_lfs "$number"; fi
  git update-ref --no-deref HEAD "$commit"
  write_files
}
# Connects the folder and the git directory of a submodule with relative paths, as git submodule does.
link_submodule() {
  printf 'gitdir: %s\\n' "$(realpath --relative-to="$path" -- "$git_dir")" > "$path/.git"
  git --git-dir="$git_dir" config core.worktree "$(realpath --relative-to="$git_dir" -- "$path")"
}
`;
