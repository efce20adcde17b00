import { programFolderArgs } from "../../../program-folders.ts";
import { sandboxPaths } from "../../paths.ts";
import { deviceArgs } from "../bubblewrap.ts";
import type { Mount } from "../mount.ts";
import { firstCopiedFd, launchFd } from "../process/launch.ts";
import type { ImageMounts } from "./mount-image.ts";

/**
 * The capabilities that containers usually have, but not SYS_CHROOT, because the seccomp filter forbids chroot. They
 * apply only inside the sandbox's user namespace.
 */
const imageCapabilities = [
  ...["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "SETFCAP"],
  ...["NET_BIND_SERVICE", "NET_RAW", "MKNOD", "AUDIT_WRITE"],
];
/** What the worker's scripts need to read all files and to run as the image's user. */
const scriptCapabilities = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"];

function userNamespaceArgs(capabilities: string[]): string[] {
  return [
    ...["--userns", String(launchFd.bwrapUser), "--cap-drop", "ALL"],
    ...capabilities.flatMap((name) => ["--cap-add", `CAP_${name}`]),
    ...["--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"],
    ...[
      "--die-with-parent",
      "--new-session",
      "--hostname",
      "sandbox",
      "--uid",
      "0",
      "--gid",
      "0",
      "--clearenv",
    ],
  ];
}

/** Returns the isolation options for the commands of a sandbox with an image. */
export function imageBwrapArgs({ root, mounts }: { root: string; mounts: Mount[] }): string[] {
  const file = (index: number) => String(firstCopiedFd + index);
  return [
    ...userNamespaceArgs(imageCapabilities),
    ...["--bind", root, "/", ...deviceArgs],
    ...mounts.flatMap(({ source, target }) => ["--ro-bind", source, target]),
    // Without --perms, only root could read them.
    ...["--perms", "0644", "--ro-bind-data", file(0), "/etc/hosts"],
    ...["--perms", "0755", "--ro-bind-data", file(1), "/etc/outrider-connect"],
    ...["--perms", "0644", "--ro-bind-data", file(2), "/opt/outrider/gitconfig"],
    ...["--perms", "0644", "--ro-bind-data", file(3), "/opt/outrider/gitconfig-push", "--chdir", "/"],
  ];
}

/** Returns the isolation options for the worker's own scripts in a sandbox with an image. */
export function imageScriptBwrapArgs(options: {
  mounts: ImageMounts;
  etcArgs: string[];
  scriptMounts: Mount[];
}): string[] {
  const { merged, upper, lower, state, tmp } = options.mounts;
  const { workspace, home } = sandboxPaths;
  return [
    ...userNamespaceArgs(scriptCapabilities),
    ...[...programFolderArgs(), ...options.etcArgs, ...deviceArgs],
    // bubblewrap would create these folders so that only root can enter them.
    ...["/.outrider", "/run", "/run/outrider", "/home"].flatMap((path) => ["--perms", "0755", "--dir", path]),
    ...["--bind", tmp, "/tmp", "--bind", merged, "/.outrider/root"],
    ...[
      "--bind",
      upper,
      "/.outrider/upper",
      "--ro-bind",
      lower,
      "/.outrider/lower",
      "--bind",
      state,
      "/.outrider/state",
    ],
    ...["--symlink", `/.outrider/root${workspace}`, workspace, "--symlink", `/.outrider/root${home}`, home],
    ...options.scriptMounts.flatMap(({ source, target }) => ["--ro-bind", source, target]),
    ...["--remount-ro", "/", "--chdir", "/"],
  ];
}
