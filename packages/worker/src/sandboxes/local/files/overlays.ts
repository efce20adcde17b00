import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Log } from "../../../log.ts";
import { removeFolder } from "../../../remove-folder.ts";

/** An overlay to mount. The names of its layers are visible inside sandboxes, so they must reveal nothing. */
export interface OverlayMount {
  /** The lower layers, relative to the working folder. A colon separates them. */
  lower: string;
  /** The folder with `upper` and `work`, relative to the working folder. Without it, the overlay is read-only. */
  files?: string;
  target: string;
}

/** Mounts overlays. Its first argument is the working folder; then follow the options and the target of each mount. */
export const mountOverlaysScript = `
cd "$1" && shift || exit
while [ $# -gt 0 ]; do
  mount -t overlay -o "$1" overlay "$2" || exit
  shift 2
done
`;

/** Returns the arguments of `mountOverlaysScript` for one mount. */
export function overlayArgs({ lower, files, target }: OverlayMount, inUserNamespace: boolean): string[] {
  const upper = files === undefined ? [] : [`upperdir=${files}/upper`, `workdir=${files}/work`];
  // A renamed folder must be copied rather than stored as a reference to its old name, because snapshots compare names.
  const features = inUserNamespace ? ["userxattr"] : ["redirect_dir=off", "metacopy=off"];
  return [[`lowerdir=${lower}`, ...upper, ...features].join(","), target];
}

/**
 * Checks whether a folder of this file system can be the upper layer of an overlay. It cannot in a container whose
 * files are on an overlay themselves, and for an ordinary user on Linux before 5.11.
 */
export async function checkOverlays(folder: string, log: Log): Promise<boolean> {
  const isRoot = process.getuid?.() === 0;
  const namespaces = isRoot ? ["--mount"] : ["--user", "--map-root-user", "--mount"];
  const target = join(folder, "merged");
  const mount = overlayArgs({ lower: "empty", files: ".", target }, !isRoot);
  try {
    for (const name of ["upper", "work", "empty", "merged"]) {
      mkdirSync(join(folder, name), { recursive: true });
    }
    const argv = [...namespaces, "sh", "-c", mountOverlaysScript, "sh", folder, ...mount];
    const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
    await promisify(execFile)("unshare", argv, { env, cwd: "/" });
    return true;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    const reason = (stderr || message).trim().slice(0, 300);
    log.warn({ reason }, "overlays are not available, so sandboxes see the paths of their folders");
    return false;
  } finally {
    await removeFolder(folder).catch(() => {});
  }
}
