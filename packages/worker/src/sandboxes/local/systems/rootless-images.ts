import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { enterIdNamespace, type IdNamespace } from "../../../id-namespace.ts";
import type { Log } from "../../../log.ts";
import { removeFolder } from "../../../remove-folder.ts";
import { nativeProgram } from "../../files/programs.ts";
import type { Capability } from "../../limits.ts";

/** What a worker that does not run as root can do with images. */
export interface RootlessImages {
  ids: IdNamespace;
  capability: Capability;
  /** Why this worker cannot use images. */
  problem: string | undefined;
}

/** Makes an overlay in which a file is deleted, as a layer does, and then everything else that a sandbox needs. */
const trialScript = `
cd "$1" && mkdir low top upper work merged && echo > low/file && mknod top/file c 0 0 &&
  mount -t overlay -o lowerdir=top:low,upperdir=upper,workdir=work,userxattr overlay merged || exit
if [ -e merged/file ]; then echo "deleted files of layers reappear" >&2; exit 1; fi
shift
exec "$@"
`;

/** Checks in a trial folder whether images work without root. They require Linux 5.11. */
export async function checkRootlessImages(
  ids: IdNamespace,
  { folder, log }: { folder: string; log: Log },
): Promise<RootlessImages> {
  const enter = [...enterIdNamespace(ids), "unshare", "--mount", "--propagation", "slave"];
  const program = [nativeProgram("mount-image"), "0", "0", String(ids.count), "0", "place", folder, "/sys"];
  let problem: string | undefined;
  try {
    mkdirSync(folder);
    const child = promisify(execFile)(
      "nsenter",
      [...enter, "sh", "-c", trialScript, "sh", folder, ...program],
      {
        env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
        cwd: "/",
      },
    );
    child.child.stdin?.end();
    await child;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    problem = (stderr || message).trim().replaceAll(/\s+/g, " ").slice(0, 300);
    log.warn({ reason: problem }, "this worker cannot use images");
  } finally {
    await removeFolder(folder).catch(() => {});
  }
  return { ids, capability: describeIds(ids), problem };
}

function describeIds({ count, uid, reason }: IdNamespace): Capability {
  if (count > 1)
    return {
      enforced: false,
      reason: `Sandboxes with an image share the user ids from ${uid} on, because the worker does not run as root.`,
    };
  return {
    enforced: false,
    reason: `Sandboxes with an image have only one user id, that of the worker (${reason}).`,
  };
}

/** Sentences for the build log. */
export function noticesOf({ count }: IdNamespace): string[] {
  if (count > 1) return [];
  return [
    'This worker has only one user id for images. Everything runs as root: `user` must be root, files cannot be given to other users, and services that change to a user of their own do not start. The worker\'s operator can add ids: see "Images without root" in docs/running.md.',
  ];
}

/**
 * Removes layers and bases whose files belong to other ids than those that the worker has now, because /etc/subuid has
 * changed.
 */
export async function removeOtherOwners(root: string, { count, uid }: IdNamespace, log: Log): Promise<void> {
  const path = join(root, ".image-ids");
  const current = `${uid} ${count}\n`;
  const previous = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  if (previous === current) return;
  if (previous !== undefined) {
    const bases = join(root, ".bases");
    const names = existsSync(bases) ? readdirSync(bases) : [];
    const stale = names.map((name) => join(bases, name)).filter((base) => existsSync(join(base, "root")));
    for (const folder of [join(root, ".layers"), ...stale])
      await removeFolder(folder).catch((error) =>
        log.warn({ error, folder }, "failed to remove image files"),
      );
  }
  writeFileSync(path, current, { mode: 0o600 });
}
