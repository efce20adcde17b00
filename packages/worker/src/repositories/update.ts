import { quoted } from "../quoted.ts";
import type { CheckoutOptions } from "./checkout.ts";

/**
 * The bash script that brings a checkout of an older commit forward to a newer one, inside a sandbox and out of the
 * mirror. What setup commands made beside the repository's files stays; their changes to those files stay too, unless
 * the newer commit changes the same ones.
 */
export function updateScript({ mirrorInside, commit, ref, path }: Omit<CheckoutOptions, "url">): string {
  const branch = ref?.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : undefined;
  const target = branch ? `-B ${quoted(branch)} ${commit}` : `--detach ${commit}`;
  return `set -euo pipefail
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_ALLOW_PROTOCOL=file LC_ALL=C
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory='*' -c gc.auto=0 "$@"; }
cd -- ${quoted(`/workspace/${path}`)}
git fetch --quiet --no-auto-maintenance --upload-pack='git -c safe.directory=* upload-pack' -- ${quoted(mirrorInside)} \\
  '+refs/heads/*:refs/remotes/origin/*' '+refs/tags/*:refs/tags/*' ${commit}
${branch ? `git update-ref ${quoted(`refs/remotes/origin/${branch}`)} ${commit}` : ""}
git checkout --quiet --no-track ${target} 2> /dev/null || git checkout --quiet --force --no-track ${target}
rm -f .git/FETCH_HEAD
`;
}
