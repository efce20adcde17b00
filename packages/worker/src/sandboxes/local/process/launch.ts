import type { UnixAccount } from "../unix-account.ts";

/** The launched process's file descriptors. 0 to 5 are its standard streams and the channels to bubblewrap. */
const fds = { seccomp: 6, net: 7, user: 8, mnt: 9 } as const;
/** The launched process's file descriptor for the first file of /etc. */
export const firstEtcFd = 10;

/**
 * Sets a high OOM score, which all processes of the command inherit, so that the kernel kills them before other
 * processes of the host. It is set outside the sandbox, where /proc is writable. The first argument is the program.
 */
const oomScoreScript = '{ echo 500 > /proc/self/oom_score_adj; } 2> /dev/null; exec "$@"';

/** The namespaces, files and account that a command enters or inherits before bubblewrap isolates it. */
export interface LaunchContext {
  /** Namespaces, as open files. */
  net: number;
  user: number | undefined;
  mnt: number | undefined;
  /** The seccomp filter, as an open file at position 0. The caller closes it. */
  seccomp: number | undefined;
  account: UnixAccount | undefined;
  /** The files that bubblewrap copies to /etc, each opened at position 0. The caller closes them. */
  etc: number[];
}

const fdPath = (fd: number) => `/proc/self/fd/${fd}`;

/**
 * Returns the command line up to bubblewrap's options. It starts a shell, which replaces itself with nsenter, which
 * replaces itself with bubblewrap.
 */
export function launchCommand({ user, mnt, seccomp, account }: LaunchContext): [string, ...string[]] {
  const enter = [
    ...["/bin/sh", "-c", oomScoreScript, "sh", "nsenter", `--net=${fdPath(fds.net)}`],
    ...(mnt === undefined ? [] : [`--mount=${fdPath(fds.mnt)}`]),
    ...(user === undefined ? [] : [`--user=${fdPath(fds.user)}`, "--preserve-credentials"]),
    ...(account ? ["--setuid", String(account.uid), "--setgid", String(account.gid)] : []),
  ];
  const filter = seccomp === undefined ? [] : ["--seccomp", String(fds.seccomp)];
  return [...enter, "bwrap", ...filter] as [string, ...string[]];
}

/** Returns the inherited files, starting at `fds.seccomp`. The init script closes them before the command starts. */
export function launchFds({ seccomp, net, user, mnt, etc }: LaunchContext): (number | "ignore")[] {
  return [seccomp, net, user, mnt, ...etc].map((file) => file ?? "ignore");
}
