import { programFolderArgs } from "../../program-folders.ts";
import { sandboxPaths } from "../paths.ts";
import type { Mount } from "./mount.ts";

const sandboxFolderNames = Object.keys(sandboxPaths) as (keyof typeof sandboxPaths)[];

/** The paths of the same folders on the host, in the sandbox's mount namespace. */
export type SandboxFolders = Record<keyof typeof sandboxPaths, string>;

export interface BwrapOptions {
  folders: SandboxFolders;
  etcArgs: string[];
  mounts: Mount[];
}

/**
 * Returns the isolation options for bubblewrap 0.8.0 or newer. The network namespace has only localhost.
 */
export function bwrapArgs({ folders, etcArgs, mounts }: BwrapOptions): string[] {
  return [
    // Without --disable-userns, a command could become root in a new user namespace. That would expose much more kernel
    // code to attack.
    ...["--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--unshare-pid", "--unshare-ipc"],
    ...["--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session"],
    ...["--hostname", "sandbox", "--uid", "1000", "--gid", "1000", "--clearenv"],
    ...programFolderArgs(),
    ...etcArgs,
    ...deviceArgs,
    ...sandboxFolderNames.flatMap((name) => ["--bind", folders[name], sandboxPaths[name]]),
    ...mounts.flatMap(({ source, target, writable }) => [writable ? "--bind" : "--ro-bind", source, target]),
    // init changes to the workspace for each command, because an earlier command may have removed access to it.
    ...["--remount-ro", "/", "--chdir", "/"],
  ];
}

/** The file systems of devices and processes. */
export const deviceArgs = [
  // /proc is read-only, so that a process cannot lower its OOM score.
  ...["--proc", "/proc", "--remount-ro", "/proc"],
  // In-memory file systems are small or read-only, because the disk limit does not cover them.
  ...["--dev", "/dev", "--perms", "1777", "--size", String(64 * 2 ** 20)],
  ...["--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
];

const dockerHint =
  "in Docker, run the worker with --security-opt seccomp=unconfined --security-opt apparmor=unconfined";

/** Turns a failed bubblewrap's stderr into one sentence that says what to install or configure. */
export function explainBwrapError(stderr: string): string {
  const message = stderr.trim().replaceAll(/\s+/g, " ").slice(0, 500);
  const missing =
    /(?:spawn |execute |exec: )(bwrap|nsenter|unshare|mount)\b.*(?:ENOENT|No such file|not found)/i;
  const program = missing.exec(message)?.[1] ?? /\b(mount): (?:command )?not found/.exec(message)?.[1];
  if (program === "bwrap") {
    return "Sandboxes require bubblewrap, which is not installed: install the package bubblewrap, 0.8.0 or newer.";
  }
  if (program) {
    return `Sandboxes require the program ${program}, which is not installed: install the package util-linux.`;
  }
  const mountpoint = /^enter-image: (.*)/.exec(message)?.[1];
  if (mountpoint) {
    return `The image leaves no place for a mount of the sandbox (${mountpoint}): remove what is at this path.`;
  }
  if (/unknown option/i.test(message)) {
    return `This bubblewrap is too old (${message}): install bubblewrap 0.8.0 or newer.`;
  }
  if (/namespace|uid map|gid map|loopback|max_user_namespaces|pivot_root|mount proc/i.test(message)) {
    return (
      `This system does not let unprivileged users create namespaces (${message}): set the sysctls ` +
      "user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1 (older Debian) and " +
      `kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), or, ${dockerHint}.`
    );
  }
  if (/find source path.*permission denied/i.test(message)) {
    return (
      `The sandbox user cannot access the sandbox folder (${message}): choose a folder whose parents are accessible ` +
      "to every user, such as /var/lib/outrider."
    );
  }
  if (/\b(EPERM|EINVAL)\b/.test(message)) {
    return (
      "This worker runs as root and starts its sandboxes under an unprivileged uid from 21500 on, which this system " +
      `does not allow (${message}): start the worker as an unprivileged user, or let it change its uid.`
    );
  }
  return `bubblewrap cannot create a sandbox: ${message || "it gave no reason"}.`;
}
