import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { CheckedOut } from "@outrider/contract/run";
import { quoted } from "./quoted.ts";
import type { Sandbox } from "./sandboxes/sandbox.ts";

/**
 * What a run has changed, told by git inside the sandbox: whatever a hostile repository makes git do, it does there. The
 * agent's own index and objects stay as they are; ours go to a folder that is removed at the end. Without repositories
 * the whole workspace is held against nothing. Paths begin at the repository where there is one, so that the patch can
 * be applied to any clone of it, and at the workspace where there are several.
 */
const script = `
set -o pipefail
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
export GIT_OPTIONAL_LOCKS=0 GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0
git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c safe.directory='*' -c gc.auto=0 "$@"; }
diff() { git -c core.quotePath=false diff --cached --binary --find-renames --full-index --no-color --no-ext-diff --no-textconv "$@"; }
# git puts a prefix before every path but those of renames. What a file holds never begins a line with these words.
prefixed() { sed -E 's#^((rename|copy) (from|to) "?)#'"\\1$1/#"; }
if [[ $# == 0 ]]; then
  export GIT_DIR="$work/git" GIT_WORK_TREE=/workspace
  git init -q && git add -A . && diff "$(git hash-object -t tree /dev/null)"
  exit
fi
code=0 several=$(($# > 2)) plain='^[A-Za-z0-9._/ -]+$'
while [[ $# -gt 0 ]]; do
  path=$1 commit=$2
  shift 2
  (
    cd "/workspace/$path" || exit
    own=$(git rev-parse --absolute-git-dir) || exit
    mkdir -p "$work/objects"
    export GIT_INDEX_FILE="$work/index" GIT_OBJECT_DIRECTORY="$work/objects"
    export GIT_ALTERNATE_OBJECT_DIRECTORIES="$own/objects"
    # Its stat cache saves reading every file again.
    cp "$own/index" "$GIT_INDEX_FILE" 2> /dev/null || git read-tree "$commit" || exit
    git add -A . || exit
    if ((!several)); then diff "$commit"
    elif [[ $path =~ $plain ]]; then diff --src-prefix="a/$path/" --dst-prefix="b/$path/" "$commit" | prefixed "$path"
    else diff --no-renames --src-prefix="a/$path/" --dst-prefix="b/$path/" "$commit"
    fi
  ) || code=1
  rm -rf "$work/index" "$work/objects"
done
exit $code
`;

/** One patch over all repositories. */
export function wholePatch(
  sandbox: Sandbox,
  repositories: CheckedOut[],
  { signal }: { signal: AbortSignal },
): Readable {
  const out = new PassThrough();
  out.on("error", () => {}); // told to its reader, even if it comes before anybody reads
  patchInto(out, sandbox, repositories, signal).catch((error) => out.destroy(error));
  return out;
}

async function patchInto(
  out: PassThrough,
  sandbox: Sandbox,
  repositories: CheckedOut[],
  signal: AbortSignal,
): Promise<void> {
  const words = repositories.flatMap(({ path, commit }) => [path, commit]).map(quoted);
  const git = await sandbox.spawn(`set -- ${words.join(" ")}\n${script}`, { signal });
  git.stdin.end();
  let complaint = "";
  git.stderr.on("data", (data: Buffer) => {
    complaint = (complaint + data).slice(-1_000);
  });
  const [{ exitCode }] = await Promise.all([git.ended, pipeline(git.stdout, out, { end: false })]);
  if (exitCode !== 0) throw new Error(complaint.trim() || `git ended with exit code ${exitCode ?? "none"}.`);
  out.end();
}
