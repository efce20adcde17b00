import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdirSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Log } from "../../../log.ts";
import { removeFolder } from "../../../remove-folder.ts";
import { nativeProgram } from "../../files/programs.ts";
import type { Capability } from "../../limits.ts";

const execFileAsync = promisify(execFile);
const execOptions = { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" }, cwd: "/" };

/** How many ids a sandbox with an image has. */
export const idCount = 0x1_0000;
/** The first of the ids that image files have on disk, and that sandboxes share if they cannot have ids of their own. */
export const storeUid = 0x6000_0000;
/** systemd reserves the ids up to 0x6fff_ffff for containers. */
const rangeCount = 0xfff;
const attempts = 100;

export interface UidRange {
  /** The id on the host that is root in the sandbox. */
  uid: number;
  release(): Promise<void>;
}

/**
 * Takes a range of ids that no other sandbox on this host uses, not even one of another worker. The range is reserved by a
 * listening socket in the abstract namespace, which the kernel removes when the worker exits for any reason.
 */
export async function takeUidRange(): Promise<UidRange> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const index = randomInt(1, rangeCount + 1);
    const server = await listen(`\0outrider-uid-range-${index}`);
    if (!server) continue;
    server.unref();
    const release = () => new Promise<void>((resolve) => server.close(() => resolve()));
    return { uid: storeUid + index * idCount, release };
  }
  throw new Error("All ranges of user ids for sandboxes with an image are in use on this host.");
}

/**
 * Checks whether id-mapped mounts work in this folder, by making one in a private mount namespace. They require Linux 5.12,
 * and 5.19 for overlays. In a container they may be forbidden.
 */
export async function checkIdMappedMounts(folder: string, log: Log): Promise<Capability> {
  const [source, target] = [join(folder, "source"), join(folder, "target")];
  const program = [
    nativeProgram("mount-image"),
    String(storeUid + idCount),
    String(storeUid),
    String(idCount),
    "0",
  ];
  try {
    for (const path of [source, target]) mkdirSync(path, { recursive: true });
    const steps = ["shared-folder", join(source, "files"), "bind", join(source, "files"), target];
    const child = execFileAsync(
      "unshare",
      ["--mount", "--propagation", "slave", ...program, ...steps],
      execOptions,
    );
    child.child.stdin?.end();
    await child;
    return { enforced: true, by: "id-mapped mounts" };
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    const reason = (stderr || message).trim().replaceAll(/\s+/g, " ").slice(0, 300);
    log.warn(
      { reason },
      "id-mapped mounts are not available, so sandboxes with an image share their user ids",
    );
    return {
      enforced: false,
      reason: `Sandboxes with an image share the user ids from ${storeUid} on: ${reason}.`,
    };
  } finally {
    await removeFolder(folder).catch(() => {});
  }
}

/** Returns undefined if the name is in use. */
function listen(path: string): Promise<Server | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Server | undefined>();
  const server = createServer((socket) => socket.destroy());
  server.once("error", (error: NodeJS.ErrnoException) =>
    error.code === "EADDRINUSE" ? resolve(undefined) : reject(error),
  );
  server.listen({ path }, () => resolve(server));
  return promise;
}
