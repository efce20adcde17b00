import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { CheckedOutRepository } from "@outrider/contract/run";
import { quote } from "../quote.ts";
import { createRedactTransform, createTextRedactor, type Redactor } from "../redaction/redact.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { BinaryPatchFilter } from "./binary-patch-filter.ts";

/** Filters of the repository may block or take forever. */
const DIFF_MS = 5 * 60_000;

/** The hash of a folder without files, which every repository knows. */
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** The functions that both scripts use. */
const functions = `
set -o pipefail
export GIT_OPTIONAL_LOCKS=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0
git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c safe.directory='*' -c gc.auto=0 "$@"; }
# The scan for binary files and the patch must pair the same files.
renames=--find-renames
diff() { git -c core.quotePath=false diff --cached "$renames" --full-index --no-color --no-ext-diff --no-textconv "$@"; }
# Prints both versions of the binary files in a patch, if there are any. Lines of file content never start with these words.
binaries() {
  LC_ALL=C grep -q '^GIT binary patch$' "$2" || return 0
  diff "$1" | LC_ALL=C sed -nE '/^index /h; /^Binary files /{x; s/^index ([0-9a-f]+)[.][.]([0-9a-f]+).*/\\1\\n\\2/p}' |
    LC_ALL=C sed -E '/^0+$/d' | sort -u | git cat-file --batch
}
`;

/**
 * Prints what a run has changed in its repositories. Git runs inside the sandbox, so a hostile repository cannot make it do anything
 * outside the sandbox. The script does not touch the agent's index and objects. It uses its own, in a temporary folder
 * that is removed at the end.
 *
 * The output starts with both versions of each changed binary file, as `git cat-file --batch` prints them, and a line
 * that contains only `patch`. A patch contains binary files in compressed form, in which a secret cannot be recognized.
 *
 * With one repository, paths are relative to it, so that the patch applies to any clone. With several, paths are
 * relative to the workspace. The files of submodules appear below the folder of the submodule. Git itself would only
 * name the submodule's commit.
 */
const script = `${functions}
work=/tmp/outrider-diff-$$-$RANDOM$RANDOM
mkdir -m 700 "$work" || exit
trap 'rm -rf "$work"' EXIT
# git adds the prefix to all paths except those of renames.
prefixed() { sed -E 's#^((rename|copy) (from|to) "?)#'"\\1$1/#"; }
# Adds a repository and its submodules to the list. Submodules that were not checked out are left out.
add() {
  local folder=$1 prefix=$2 commit=$3 own entry path
  folders+=("$folder") prefixes+=("$prefix") commits+=("$commit")
  own=$(git -C "$folder" rev-parse --absolute-git-dir 2> /dev/null) || return 0
  [[ -d $own/modules ]] && ((\${#folders[@]} < 100)) || return 0
  while IFS= read -r -d "" entry; do
    path=\${entry#*$'\\t'} entry=\${entry#* commit }
    [[ -e $folder/$path/.git ]] || continue
    git -C "$folder/$path" rev-parse -q --verify "\${entry%%$'\\t'*}^{tree}" &> /dev/null || continue
    add "$folder/$path" "\${prefix:+$prefix/}$path" "\${entry%%$'\\t'*}"
  done < <(git -C "$folder" ls-tree -r -z --full-tree "$commit" | LC_ALL=C grep -z '^160000 ')
}
# Enters the repository at an index of the list, with an index and objects of its own.
enter() {
  cd "\${folders[$1]}" || return
  if [[ \${prefixes[$1]} ]] && ! [[ \${prefixes[$1]} =~ $plain ]]; then renames=--no-renames; fi
  local own
  own=$(git rev-parse --absolute-git-dir) || return
  export GIT_INDEX_FILE="$work/index-$1" GIT_OBJECT_DIRECTORY="$work/objects-$1"
  export GIT_ALTERNATE_OBJECT_DIRECTORIES="$own/objects"
  mkdir "$GIT_OBJECT_DIRECTORY" || return
  # The stat cache in the copied index saves reading every file again.
  cp "$own/index" "$GIT_INDEX_FILE" 2> /dev/null || git read-tree "\${commits[$1]}" || return
  local sparse=()
  # Without this, git refuses files outside the folders of a sparse checkout.
  if [[ $(git config --bool core.sparseCheckout) == true ]]; then sparse=(--sparse); fi
  git add -A "\${sparse[@]}" .
}
print_patch() {
  if [[ ! $1 ]]; then diff --binary "$2"
  else
    diff --binary --src-prefix="a/$1/" --dst-prefix="b/$1/" "$2" |
      if [[ $renames == --no-renames ]]; then cat; else prefixed "$1"; fi
  fi
}
several=$(($# > 2)) plain='^[A-Za-z0-9._/ -]+$' folders=() prefixes=() commits=() patches=()
while (($# > 0)); do
  if ((several)); then add "/workspace/$1" "$1" "$2"; else add "/workspace/$1" "" "$2"; fi
  shift 2
done
for n in "\${!folders[@]}"; do
  (
    enter $n && print_patch "\${prefixes[n]}" "\${commits[n]}" > "$work/patch-$n" &&
      binaries "\${commits[n]}" "$work/patch-$n"
  ) || exit 1
done
echo patch
for n in "\${!folders[@]}"; do patches+=("$work/patch-$n"); done
cat "\${patches[@]}"
`;

/**
 * Without repositories, the diff shows the whole workspace as new. The program native/workspace-diff.c does the same as
 * the script above and starts no program except git, because these diffs are mostly small and starting programs takes
 * most of their time. It runs this script if there are binary files. The argument is the path of the patch.
 */
const workspaceBinaries = `${functions}
binaries ${emptyTree} "$1"`;

interface DiffOptions {
  repositories: CheckedOutRepository[];
  redactor: Redactor;
  signal: AbortSignal;
  timeoutMs?: number;
}

/** Streams one patch that covers all repositories, without secrets. */
export function streamDiff(sandbox: Sandbox, options: DiffOptions): Readable {
  const out = new PassThrough();
  // The reader gets the error. This handler covers an error that occurs before the reader attaches.
  out.on("error", () => {});
  writeDiff(out, sandbox, options).catch((error) => out.destroy(error));
  return out;
}

async function writeDiff(out: PassThrough, sandbox: Sandbox, options: DiffOptions): Promise<void> {
  const { repositories, redactor, signal, timeoutMs = DIFF_MS } = options;
  const args = repositories.flatMap(({ path, commit }) => [path, commit]).map(quote);
  const command =
    args.length > 0
      ? `set -- ${args.join(" ")}\n${script}`
      : [sandbox.scriptPaths.workspaceDiff, workspaceBinaries];
  const timeout = AbortSignal.timeout(timeoutMs);
  const git = await sandbox.inspect(command, { signal: AbortSignal.any([signal, timeout]) });
  git.stdin.end();
  let stderr = "";
  const redacted = createTextRedactor(redactor);
  const addText = (text: string) => {
    stderr = (stderr + text).slice(-1_000);
  };
  git.stderr.on("data", (data: Buffer) => addText(redacted.push(data)));
  const filters = [
    new BinaryPatchFilter(redactor),
    createRedactTransform(redactor, { preserve: "patch" }),
  ] as const;
  const [{ exitCode }] = await Promise.all([
    git.ended,
    pipeline(git.stdout, ...filters, out, { end: false }),
  ]);
  addText(redacted.end());
  if (timeout.aborted) throw new Error(`git did not finish within ${timeoutMs / 1000} s.`);
  if (exitCode !== 0) throw new Error(stderr.trim() || `git exited with code ${exitCode ?? "none"}.`);
  out.end();
}
