import { nativeProgram } from "../../files/programs.ts";
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

/** Sets a high OOM score, as native/enter-sandbox.c does. The first argument is the program. */
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
 * Returns the command line up to bubblewrap's options. It starts a program that enters the namespaces and replaces itself
 * with bubblewrap. With an image, these are a shell, nsenter and enter-image.
 */
export function launchCommand({ user, mnt, seccomp, account, image }: LaunchContext): [string, ...string[]] {
  const filter = seccomp === undefined ? [] : ["--seccomp", String(launchFd.seccomp)];
  if (!image) {
    return [
      nativeProgram("enter-sandbox"),
      user === undefined ? "-" : String(launchFd.user),
      mnt === undefined ? "-" : String(launchFd.mnt),
      ...(account ? [String(account.uid), String(account.gid)] : ["-", "-"]),
      ...["bwrap", ...filter],
    ];
  }
  const enter = [
    ...(mnt === undefined ? [] : [`--mount=${fdPath(launchFd.mnt)}`]),
    ...(user === undefined
      ? []
      : [`--user=${fdPath(launchFd.user)}`, ...(image.rootArgs ?? ["--preserve-credentials"])]),
  ];
  const prepare = account
    ? [
        ...[nativeProgram("enter-image"), String(account.uid), String(launchFd.bwrapUser)],
        ...[image.root, ...image.mountpoints, "--"],
      ]
    : [];
  return [
    ...["/bin/sh", "-c", oomScoreScript, "sh", ...(enter.length === 0 ? [] : ["nsenter", ...enter])],
    ...[...prepare, "bwrap", ...filter],
  ] as [string, ...string[]];
}

/** Returns the inherited files, starting at `launchFd.seccomp`. init closes them before the first command starts. */
export function launchFds({ seccomp, user, mnt, bwrapUser, copied }: LaunchContext): (number | "ignore")[] {
  return [seccomp, user, mnt, bwrapUser, ...copied].map((file) => file ?? "ignore");
}
