/**
 * The first program in every command's namespace: a bash script that runs before the command, as the command's user.
 *
 * 1. It restores access to the sandbox's own folders. A command can remove its own access to them, which must not lock
 *    out later commands.
 * 2. It waits at the gate (file descriptor 5) until the watchdog has registered the processes. The worker sends the
 *    environment entries through the gate and then "go", each followed by a NUL. bubblewrap's --block-fd is unsuitable:
 *    it treats end of file, and therefore the worker's death, as "go". The environment is sent this late because
 *    LD_PRELOAD or BASH_ENV could otherwise run code from the workspace first. It also stays out of the host's process
 *    list.
 * 3. It closes every file except 0, 1 and 2. Otherwise files that the worker inherited would be open inside, and an
 *    open host folder is a way out of the sandbox.
 * 4. It sets limits that need no control group: no core dumps, files of at most 16 GiB, and at most 4096 processes if no
 *    control group limits them.
 * 5. If the output is merged, it makes stderr a copy of stdout. Until then they are separate, so that bubblewrap's own
 *    errors can be read.
 */
import { quote } from "../../../quote.ts";
import { sandboxPaths } from "../bubblewrap.ts";

export const gateFd = 5;

/**
 * Returns the init script, followed by `script` in the same shell or, if there is none, by the command line in its
 * arguments.
 */
export function initScript(options: {
  limitProcesses: boolean;
  mergeOutput: boolean;
  /** Where the command starts, if this folder exists. */
  workingFolder: string | undefined;
  script?: string | undefined;
}): string {
  return `
for __entry in ${Object.values(sandboxPaths).join(" ")}; do
  [[ -r $__entry && -w $__entry && -x $__entry ]] || chmod 700 "$__entry"
done
cd ${sandboxPaths.workspace} || exit 125
${options.workingFolder ? `cd -- ${quote(options.workingFolder)} 2> /dev/null` : ""}
unset OLDPWD
while IFS= read -r -d "" __entry <&${gateFd} && [[ $__entry != go ]]; do export "$__entry"; done
[[ $__entry == go ]] || exit 125
printf started >&${gateFd}
for __entry in /proc/self/fd/*; do
  __entry=\${__entry##*/}
  if ((__entry > 2)); then eval "exec $__entry>&-"; fi
done
unset __entry
{
  ulimit -c 0
  ulimit -f ${16 * 2 ** 20}
  ${options.limitProcesses ? "ulimit -u 4096" : ""}
} 2>/dev/null
umask 022
${options.mergeOutput ? "exec 2>&1" : ""}
${options.script ?? 'exec "$@"'}
`;
}
