import { own } from "./bubblewrap.ts";

/**
 * The first program of every sandbox, run by bash ahead of the command, as the command's user.
 *
 * It waits at the gate (file descriptor 5) until the switch knows of the processes: entries of the environment come
 * through the gate, then "go", each ended by a NUL. bubblewrap has a --block-fd for such waiting, but takes the end
 * of that file, hence our death, for "go". The environment comes this late because LD_PRELOAD or BASH_ENV in it
 * could run code of the workspace before; it also stays out of the host's list of processes.
 *
 * Then it closes every file but 0, 1 and 2. Files that this worker inherited from whoever started it would else be
 * open inside; an open folder of the host is a way out.
 *
 * A command can close its own folders to itself, and with them the sandbox to every later command: they are opened
 * again.
 *
 * Limits are what comes for free here: no core dumps, one file of at most 16 GiB, and where no control group counts
 * them 4096 processes. The kernel is told to sacrifice these processes first when memory runs out.
 */
export const gateFd = 5;

/** A script of ours follows in the same shell; without one, the arguments are a command line. */
export function prelude(options: { limitProcesses: boolean; script?: string | undefined }): string {
  return `
for __entry in ${Object.values(own).join(" ")}; do
  [[ -r $__entry && -w $__entry && -x $__entry ]] || chmod 700 "$__entry"
done
cd ${own.workspace} || exit 125
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
  echo 500 > /proc/self/oom_score_adj
} 2>/dev/null
umask 022
${options.script ?? 'exec "$@"'}
`;
}
