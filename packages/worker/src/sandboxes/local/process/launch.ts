import { nativeProgram } from "../files/programs.ts";
import type { ImageEntry } from "../systems/system.ts";
import type { UnixAccount } from "../unix-account.ts";

/** The launched process's file descriptors. 0 to 2 are its standard streams. */
export const launchFd = {
  args: 3,
  info: 4,
  connection: 5,
  seccomp: 6,
  user: 7,
  mnt: 8,
  bwrapUser: 9,
} as const;
/** The launched process's file descriptor for the first file that bubblewrap copies into the sandbox. */
export const firstCopiedFd = 10;

/**
 * Sets a high OOM score, which all processes of the sandbox inherit, so that the kernel kills them before other processes
 * of the host. It is set outside the sandbox, where /proc is writable. The first argument is the program.
 */
const oomScoreScript = '{ echo 500 > /proc/self/oom_score_adj; } 2> /dev/null; exec "$@"';

/** The namespaces, files and account that a process enters or inherits before bubblewrap isolates it. */
export interface LaunchContext {
  /** Namespaces, as open files. Without them, the process starts in those of the worker. */
  user: number | undefined;
  mnt: number | undefined;
  /** The user namespace that bubblewrap enters (`--userns`), as an open file. */
  bwrapUser: number | undefined;
  image: ImageEntry | undefined;
  /** The seccomp filter, as an open file at position 0. The caller closes it. */
  seccomp: number | undefined;
  account: UnixAccount | undefined;
  /** The files that bubblewrap copies into the sandbox, each opened at position 0. The caller closes them. */
  copied: number[];
}

const fdPath = (fd: number) => `/proc/self/fd/${fd}`;

/**
 * Returns the command line up to bubblewrap's options. It starts a shell, which replaces itself with nsenter, which
 * replaces itself with bubblewrap.
 */
export function launchCommand({ user, mnt, seccomp, account, image }: LaunchContext): [string, ...string[]] {
  const enter = [
    ...(mnt === undefined ? [] : [`--mount=${fdPath(launchFd.mnt)}`]),
    ...(user === undefined
      ? []
      : [`--user=${fdPath(launchFd.user)}`, ...(image?.rootArgs ?? ["--preserve-credentials"])]),
    ...(account && !image ? ["--setuid", String(account.uid), "--setgid", String(account.gid)] : []),
  ];
  const prepare =
    account && image
      ? [
          ...[nativeProgram("enter-image"), String(account.uid), String(launchFd.bwrapUser)],
          ...[image.root, ...image.mountpoints, "--"],
        ]
      : [];
  const filter = seccomp === undefined ? [] : ["--seccomp", String(launchFd.seccomp)];
  return [
    ...["/bin/sh", "-c", oomScoreScript, "sh", ...(enter.length === 0 ? [] : ["nsenter", ...enter])],
    ...[...prepare, "bwrap", ...filter],
  ] as [string, ...string[]];
}

/** Returns the inherited files, starting at `launchFd.seccomp`. init closes them before the first command starts. */
export function launchFds({ seccomp, user, mnt, bwrapUser, copied }: LaunchContext): (number | "ignore")[] {
  return [seccomp, user, mnt, bwrapUser, ...copied].map((file) => file ?? "ignore");
}
