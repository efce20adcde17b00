import { quote } from "../quote.ts";
import { workspacePath } from "../repositories/checkout.ts";
import type { GitAuthor } from "../sandboxes/sandbox.ts";

/** What the script prints before the pack. */
export const packMarker = "pack\n";

/** The agent's own commits stay as they are. This ref keeps the commit of the changes that it did not commit. */
export const stagedRef = "refs/outrider/staged";

interface StagingScriptOptions {
  /** Relative to /workspace. */
  path: string;
  /** Whether uncommitted changes become a commit. */
  commitsChanges: boolean;
  /** The staged commit that was pushed last. */
  published?: string | undefined;
  author: GitAuthor;
  message: string;
}

/**
 * Returns the bash script that takes a run's commits out of the sandbox. It runs as the sandbox's user, and git runs no
 * hook and reads no replacement objects. A hostile repository can make git execute programs (filters), but only in the
 * sandbox; the worker checks everything that is printed.
 *
 * The script reads the commits that the remote has from its stdin, one id per line. It prints `problem REASON`, or `tip
 * ID`, a line `pack`, and a pack with all that the tip needs besides these commits.
 *
 * HEAD, the index and the branches of the agent do not change. The commit of uncommitted changes is made with an index of
 * its own. Its parent is HEAD, or the last pushed commit if that contains HEAD, so that the pushed branch only grows.
 * The pointers of submodules stay as they are in HEAD, because the commits of submodules are not pushed; for the same
 * reason, repositories in untracked folders are left out.
 */
export function stagingScript(options: StagingScriptOptions): string {
  const { path, commitsChanges, published = "", author, message } = options;
  const values = {
    path: workspacePath(path),
    commits_changes: commitsChanges ? "1" : "",
    published,
    name: author.name,
    email: author.email,
    message,
  };
  const assignments = Object.entries(values).map(([name, value]) => `${name}=${quote(value)}`);
  return `${assignments.join(" ")}\n${script}`;
}

const script = `set -uo pipefail
unset "\${!GIT_@}"
export GIT_OPTIONAL_LOCKS=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0
export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 LC_ALL=C
export GIT_CEILING_DIRECTORIES="\${path%/*}"
git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c safe.directory='*' -c gc.auto=0 -c core.pager=cat "$@"; }
stop() { echo "problem $1"; exit 0; }
cd -- "$path" 2> /dev/null || stop no-repository
own=$(git rev-parse --absolute-git-dir 2> /dev/null) || stop no-repository
head=$(git rev-parse -q --verify 'HEAD^{commit}' 2> /dev/null) || stop no-commit
# The remote's commits that this repository has.
known=$(git cat-file --batch-check='%(objecttype) %(objectname)' | sed -nE 's/^(commit|tag) ([0-9a-f]+)$/^\\2/p') || exit
tip=$head
commit_changes() {
  local work tree parent staged
  [[ ! $(git ls-files --unmerged | head -c 1) ]] || stop unmerged
  work=$(mktemp -d /tmp/outrider-stage-XXXXXXXX) || return
  trap 'rm -rf -- "$work"' EXIT
  # The stat cache in the copied index saves reading every file again.
  cp -- "$(git rev-parse --git-path index)" "$work/index" 2> /dev/null || GIT_INDEX_FILE=$work/index git read-tree "$head" || return
  export GIT_INDEX_FILE=$work/index
  local sparse=()
  # Without this, git refuses files outside the folders of a sparse checkout.
  if [[ $(git config --bool core.sparseCheckout) == true ]]; then sparse=(--sparse); fi
  git -c advice.addEmbeddedRepo=false add -A "\${sparse[@]}" . || return
  restore_pointers || return
  tree=$(git write-tree) || return
  parent=$head
  if [[ $published && $published != "$head" ]] && git merge-base --is-ancestor "$head" "$published" 2> /dev/null; then
    parent=$published
  fi
  tip=$parent
  [[ $(git rev-parse "$parent^{tree}") != "$tree" ]] || return 0
  staged=$(git rev-parse -q --verify "${stagedRef}^{commit}" 2> /dev/null)
  if [[ $staged && $(git rev-parse "$staged^{tree}" "$staged^@") == "$tree"$'\\n'"$parent" ]]; then
    tip=$staged
    return 0
  fi
  tip=$(printf '%s\\n' "$message" | GIT_AUTHOR_NAME=$name GIT_AUTHOR_EMAIL=$email \\
    GIT_COMMITTER_NAME=$name GIT_COMMITTER_EMAIL=$email git commit-tree --no-gpg-sign -p "$parent" "$tree") || return
  git update-ref ${stagedRef} "$tip"
}
# Submodules in the index get the commits that they have in HEAD. Those that HEAD does not have are removed.
restore_pointers() {
  local entry path zero
  declare -A pointers=()
  while IFS= read -r -d "" entry; do
    path=\${entry#*$'\\t'} entry=\${entry#* commit }
    pointers[$path]=\${entry%%$'\\t'*}
  done < <(git ls-tree -r -z --full-tree "$head" | grep -z '^160000 ')
  zero=\${head//?/0}
  git ls-files --stage -z --full-name | grep -z '^160000 ' | while IFS= read -r -d "" entry; do
    path=\${entry#*$'\\t'}
    if [[ \${pointers[$path]:-} ]]; then printf '160000 %s\\t%s\\0' "\${pointers[$path]}" "$path"
    else printf '0 %s\\t%s\\0' "$zero" "$path"; fi
  done > "$work/pointers" || [[ \${PIPESTATUS[1]} == 1 ]] || return
  [[ ! -s $work/pointers ]] || git update-index -z --index-info < "$work/pointers"
}
if [[ $commits_changes ]]; then commit_changes || exit; fi
missing=error
if [[ $(git config extensions.partialClone) ]]; then missing=allow-promisor; fi
printf 'tip %s\\npack\\n' "$tip"
printf '%s\\n%s\\n' "$tip" "$known" | grep . |
  git -c pack.useSparse=false -c pack.compression=1 pack-objects --quiet --revs --stdout --missing="$missing"
`;
