import { quote } from "../quote.ts";
import type { CheckoutOptions } from "./checkout.ts";

/**
 * Returns the bash script that updates a checkout to a newer commit from the mirror, inside a sandbox. Untracked files
 * from setup commands are preserved. Changes to tracked files are preserved too, unless the newer commit changes the
 * same files.
 */
export function updateScript({ mirrorPath, commit, ref, path }: Omit<CheckoutOptions, "url">): string {
  const branch = ref?.startsWith("refs/heads/") ? ref : undefined;
  const remoteBranch = branch?.replace("refs/heads/", "refs/remotes/origin/");
  return `set -euo pipefail
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_ALLOW_PROTOCOL=file LC_ALL=C
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' -c gc.auto=0 "$@"; }
cd -- ${quote(`/workspace/${path}`)}
git fetch --quiet --no-auto-maintenance --upload-pack='git -c safe.directory=* upload-pack' -- ${quote(mirrorPath)} \\
  '+refs/heads/*:refs/remotes/origin/*' '+refs/tags/*:refs/tags/*' ${commit}
git checkout --quiet --detach ${commit} 2> /dev/null || git checkout --quiet --force --detach ${commit}
${
  // Full names, because `git checkout` rejects branches whose name looks like an option.
  branch && remoteBranch
    ? `git update-ref ${quote(remoteBranch)} ${commit}
git update-ref ${quote(branch)} ${commit}
git symbolic-ref HEAD ${quote(branch)}`
    : ""
}
rm -f .git/FETCH_HEAD
`;
}
