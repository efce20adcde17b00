import { quote } from "../quote.ts";
import { lfsFilter } from "./lfs/lfs-filter.ts";

/**
 * Bash functions that check out repositories inside a sandbox, from mirrors that are mounted read-only. They need
 * neither a network nor a credential, and run no hook or program of the repository.
 */
export const shellFunctions = `set -euo pipefail
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 LC_ALL=C
export GIT_ALLOW_PROTOCOL=file GIT_NO_LAZY_FETCH=1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_TEMPLATE_DIR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' -c gc.auto=0 "$@"; }
reader='git -c safe.directory=* upload-pack'
partial=

# clone MIRROR COMMIT PATH URL GIT_DIR: clones a mirror without its files, and enters the clone.
clone() {
  local mirror=$1 commit=$2 path=$3 url=$4 git_dir=$5 default
  mkdir -p -- "$path" "$(dirname -- "$git_dir")"
  local separate=()
  if [ "$git_dir" != "$path/.git" ]; then separate=(--separate-git-dir="$git_dir"); fi
  if [ -n "$partial" ]; then
    # A partial mirror cannot serve a fetch. Another attempt helps if the mirror was being repacked.
    copy_packs 2>/dev/null || copy_packs 2>/dev/null || copy_packs
  else copy_packs 2>/dev/null || fetch_packs; fi
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
}
copy_packs() {
  git clone --quiet --local --no-hardlinks --no-checkout --template= "\${separate[@]}" --upload-pack="$reader" \\
    -- "$mirror" "$path"
}
fetch_packs() {
  local format=sha1
  if [ "\${#commit}" = 64 ]; then format=sha256; fi
  find "$path" -mindepth 1 -delete
  rm -rf -- "$git_dir"
  git init --quiet --template= --object-format="$format" "\${separate[@]}" -- "$path"
  cd -- "$path"
  git remote add origin "$mirror"
  git fetch --quiet --upload-pack="$reader" -- origin '+refs/heads/*:refs/remotes/origin/*' '+refs/tags/*:refs/tags/*' \\
    "$commit"
}

# Writes the files of HEAD.
write_files() {
  git -c advice.detachedHead=false -c checkout.workers=0 reset --quiet --hard
  local own
  own=$(git rev-parse --absolute-git-dir)
  rm -rf -- "$own/FETCH_HEAD" "$own/ORIG_HEAD" "$own/logs" # the reflog mentions the mirror
}

# update MIRROR COMMIT: updates the clone in the current folder. Untracked files are preserved. Changes to tracked files
# are preserved too, unless the new commit changes the same files.
update() {
  if [ -n "$partial" ]; then add_packs "$1"
  else
    git fetch --quiet --no-auto-maintenance --no-recurse-submodules --upload-pack="$reader" -- "$1" \\
      '+refs/heads/*:refs/remotes/origin/*' '+refs/tags/*:refs/tags/*' "$2"
  fi
  git checkout --quiet --detach "$2" 2> /dev/null || git checkout --quiet --force --detach "$2"
  rm -f -- "$(git rev-parse --absolute-git-dir)/FETCH_HEAD"
}

# add_packs MIRROR: copies the packs and refs that the clone in the current folder does not have.
add_packs() {
  local own pack name type
  own=$(git rev-parse --absolute-git-dir)/objects/pack
  for pack in "$1"/objects/pack/*.pack; do
    name=$(basename -- "$pack" .pack)
    if [ -e "$own/$name.idx" ]; then continue; fi
    # git finds a pack by its index, which is copied last.
    for type in promisor pack idx; do
      if [ -e "$1/objects/pack/$name.$type" ]; then cp -- "$1/objects/pack/$name.$type" "$own/"; fi
    done
  done
  git --git-dir="$1" for-each-ref --format='update refs/remotes/origin/%(refname:lstrip=2) %(objectname)' refs/heads |
    git update-ref --stdin
  git --git-dir="$1" for-each-ref --format='update %(refname) %(objectname)' refs/tags | git update-ref --stdin
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

# use_lfs MIRROR: lets git replace pointers with Git LFS files from the mirror, in the current clone.
use_lfs() {
  local own
  own=$(git rev-parse --absolute-git-dir)
  export OUTRIDER_LFS_SOURCE=$1/lfs/objects
  mkdir -p -- "$own/lfs"
  printf '%s' ${quote(lfsFilter)} > "$own/lfs/outrider-filter"
  for direction in clean smudge; do
    git config "filter.lfs.$direction" 'sh "$(git rev-parse --git-common-dir)/lfs/outrider-filter" '"$direction %f"
  done
  git config filter.lfs.required true
}

# submodule PARENT PATH NAME COMMIT URL MIRROR LFS: checks out a submodule, or updates it if it exists.
submodule() {
  local parent=$1 path=$2 name=$3 commit=$4 url=$5 mirror=$6 lfs=$7 git_dir
  cd -- "$parent"
  git_dir=$(git rev-parse --absolute-git-dir)/modules/$name
  git config "submodule.$name.url" "$url"
  git config "submodule.$name.active" true
  if [ -e "$git_dir/HEAD" ]; then
    mkdir -p -- "$path"
    link_submodule
    cd -- "$path"
    git remote set-url origin "$url"
    if [ -n "$lfs" ]; then use_lfs "$mirror"; fi
    update "$mirror" "$commit"
    return
  fi
  if [ -n "$(ls -A -- "$path" 2>/dev/null)" ]; then
    echo "$path is not empty, so that the submodule cannot be checked out there." >&2
    exit 1
  fi
  clone "$mirror" "$commit" "$path" "$url" "$git_dir"
  link_submodule
  if [ -n "$lfs" ]; then use_lfs "$mirror"; fi
  git update-ref --no-deref HEAD "$commit"
  write_files
}
# Connects the folder and the git directory of a submodule with relative paths, as git submodule does.
link_submodule() {
  printf 'gitdir: %s\\n' "$(realpath --relative-to="$path" -- "$git_dir")" > "$path/.git"
  git --git-dir="$git_dir" config core.worktree "$(realpath --relative-to="$git_dir" -- "$path")"
}
`;
