import type { Identity } from "./identity.ts";

/** Which files of a command's launch are what; those before are its output and ways to talk with bubblewrap. */
const fds = { seccomp: 6, net: 7, user: 8, mnt: 9 } as const;

/** What a command enters before its own walls are raised. */
export interface Entrance {
  /** Namespaces, as open files. */
  net: number;
  user: number | undefined;
  mnt: number | undefined;
  /** An open file, at its beginning, with the filter of system calls. Closed by whoever launches. */
  seccomp: number | undefined;
  identity: Identity | undefined;
}

const at = (fd: number) => `/proc/self/fd/${fd}`;

/** The command line up to bubblewrap's own options: one process, which becomes each program in turn. */
export function launcher({ user, mnt, seccomp, identity }: Entrance): [string, ...string[]] {
  const enter = [
    ...["nsenter", `--net=${at(fds.net)}`],
    ...(mnt === undefined ? [] : [`--mount=${at(fds.mnt)}`]),
    ...(user === undefined ? [] : [`--user=${at(fds.user)}`, "--preserve-credentials"]),
    ...(identity ? ["--setuid", String(identity.uid), "--setgid", String(identity.gid)] : []),
  ];
  const filter = seccomp === undefined ? [] : ["--seccomp", String(fds.seccomp)];
  return [...enter, "bwrap", ...filter] as [string, ...string[]];
}

/** Its open files, from `fds.seccomp` on. The prelude closes what is left of them before the command begins. */
export function launcherFiles({ seccomp, net, user, mnt }: Entrance): (number | "ignore")[] {
  return [seccomp, net, user, mnt].map((file) => file ?? "ignore");
}
