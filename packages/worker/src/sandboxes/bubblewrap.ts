import { lstatSync, readlinkSync } from "node:fs";
import type { Mount } from "./sandbox.ts";

/** Where a sandbox's own folders are inside it. */
export const own = { workspace: "/workspace", home: "/home/sandbox", tmp: "/tmp" } as const;
export const ownFolders = Object.keys(own) as (keyof typeof own)[];

/** Where they are outside, as the mount namespace of the sandbox has them. */
export type Places = Record<keyof typeof own, string>;

export const baseEnvironment: Record<string, string> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: own.home,
  USER: "sandbox",
  LOGNAME: "sandbox",
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  TERM: "dumb",
};

/** All that the sandbox has of the host besides its own folder: programs, read-only. */
const programs = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

export interface WallsOptions {
  places: Places;
  etc: string[];
  env: Record<string, string>;
  mounts: Mount[];
}

/**
 * The walls, as options of bubblewrap 0.8.0 or newer. Each command gets its own: when the command ends, so does its
 * pid namespace with whatever it left running, and a sandbox in which nothing runs costs no process. The network is
 * not among them: bubblewrap starts in that of the sandbox, which all its commands share.
 */
export function walls({ places, etc, env, mounts }: WallsOptions): string[] {
  return [
    // Without --disable-userns a command could make itself root of a namespace, from where much more of the kernel
    // can be attacked.
    ...["--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--unshare-pid", "--unshare-ipc"],
    ...["--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session"],
    ...["--hostname", "sandbox", "--uid", "1000", "--gid", "1000", "--clearenv"],
    ...Object.entries({ ...baseEnvironment, ...env }).flatMap(([name, value]) => ["--setenv", name, value]),
    ...programs.flatMap(bindProgram),
    ...etc,
    // Folders in memory are small or read-only: what is written to them counts as nobody's disk.
    ...["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", String(64 * 2 ** 20)],
    ...["--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
    ...ownFolders.flatMap((name) => ["--bind", places[name], own[name]]),
    ...mounts.flatMap(({ source, target, writable }) => [writable ? "--bind" : "--ro-bind", source, target]),
    // The prelude goes to the workspace, which a command may have closed to itself.
    ...["--remount-ro", "/", "--chdir", "/"],
  ];
}

/** Most systems have /bin and its like as links into /usr, some still as folders. */
function bindProgram(path: string): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return [];
  return stat.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}

const inContainer =
  "in Docker, run the worker with --security-opt seccomp=unconfined --security-opt apparmor=unconfined";

/** Why bubblewrap could not make a sandbox, in one sentence that says what to install or set. */
export function explain(complaint: string): string {
  const message = complaint.trim().replaceAll(/\s+/g, " ").slice(0, 500);
  const missing =
    /(?:spawn |execute |exec: )(bwrap|nsenter|unshare|mount)\b.*(?:ENOENT|No such file|not found)/i;
  const program = missing.exec(message)?.[1] ?? /\b(mount): (?:command )?not found/.exec(message)?.[1];
  if (program === "bwrap") {
    return "Sandboxes need bubblewrap, which is not installed: install the package bubblewrap, 0.8.0 or newer.";
  }
  if (program) {
    return `Sandboxes need the program ${program}, which is not installed: install the package util-linux.`;
  }
  if (/unknown option/i.test(message)) {
    return `This bubblewrap is too old (${message}): install bubblewrap 0.8.0 or newer.`;
  }
  if (/namespace|uid map|gid map|loopback|max_user_namespaces|pivot_root|mount proc/i.test(message)) {
    return (
      `This system does not let ordinary users make namespaces (${message}): set the sysctls ` +
      "user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1 (older Debian) and " +
      `kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), or, ${inContainer}.`
    );
  }
  if (/find source path.*permission denied/i.test(message)) {
    return (
      `The sandboxes' own user cannot enter their folder (${message}): choose one whose parents everybody may ` +
      "enter, such as /var/lib/outrider."
    );
  }
  if (/\b(EPERM|EINVAL)\b/.test(message)) {
    return (
      `Being root, this worker runs its sandboxes under an unprivileged uid from 21500 on, which this system refuses ` +
      `(${message}): start it as an ordinary user, or let it change its uid.`
    );
  }
  return `bubblewrap cannot make a sandbox here: ${message || "it gave no reason"}.`;
}
