/**
 * The user namespace in which a worker that does not run as root handles the files of images. Its root is not the host's:
 *
 * - If /etc/subuid and /etc/subgid give the worker's user at least 65,536 ids, and newuidmap and newgidmap are installed,
 *   these are the ids 0 to 65535 of the namespace. The worker's own user is 65536, so that root can enter its folders.
 * - Otherwise the namespace has only one id: root is the worker's user.
 *
 * The kernel lets only the host's root map the ids of mounts, so all sandboxes of the worker share these ids.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const run = promisify(execFile);
const environment = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
const requiredIds = 0x1_0000;

export interface IdNamespace {
  /** The namespace, as an open file. It is never closed, because the worker needs it until it exits. */
  file: number;
  /** The number of ids that sandboxes with an image have. */
  count: number;
  /** The id on the host that is root in the namespace. */
  uid: number;
  /** Why there is only one id. */
  reason?: string;
}

let opened: Promise<IdNamespace> | undefined;

/** Returns the namespace of this process. Only for a worker that does not run as root. */
export function openIdNamespace(): Promise<IdNamespace> {
  opened ??= createIdNamespace();
  return opened;
}

/** Returns the options of nsenter that make a program root in the namespace, whose file the program does not inherit. */
export function enterIdNamespace(namespace: IdNamespace): string[] {
  return [`--user=/proc/${process.pid}/fd/${namespace.file}`, ...rootArgs(namespace)];
}

/** Returns the options of nsenter that make a process root after it has entered the namespace. */
export function rootArgs({ count }: Pick<IdNamespace, "count">): string[] {
  // With one id, the process is root already, and the kernel forbids any change.
  return count === 1 ? ["--preserve-credentials"] : ["--setuid", "0", "--setgid", "0"];
}

/** Why a user has no ids, in a form that says what to do. */
class NoIdsError extends Error {}

async function createIdNamespace(): Promise<IdNamespace> {
  try {
    return await createWithRange();
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    const reason = (stderr || message).trim().replaceAll(/\s+/g, " ").slice(0, 300);
    const file = await holdNamespace(["--map-root-user"], async () => {});
    return { file, count: 1, uid: process.getuid?.() as number, reason };
  }
}

async function createWithRange(): Promise<IdNamespace> {
  const [uid, gid] = [process.getuid?.() as number, process.getgid?.() as number];
  const names = [userInfo().username, String(uid)];
  const [firstUid, firstGid] = [firstId("/etc/subuid", names), firstId("/etc/subgid", names)];
  const map = async (program: string, pid: string, first: number, own: number) => {
    const args = [pid, "0", String(first), String(requiredIds), String(requiredIds), String(own), "1"];
    await run(program, args, { env: environment, cwd: "/" }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      throw new NoIdsError(`${program} is not installed (package uidmap)`);
    });
  };
  const file = await holdNamespace([], async (pid) => {
    await map("newuidmap", pid, firstUid, uid);
    await map("newgidmap", pid, firstGid, gid);
  });
  return { file, count: requiredIds, uid: firstUid };
}

/** Returns the first id of a range that is large enough. */
function firstId(path: string, names: string[]): number {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // A missing file gives nobody any ids.
  }
  for (const line of text.split("\n")) {
    const [name = "", first, count] = line.trim().split(":");
    if (names.includes(name) && Number(count) >= requiredIds) return Number(first);
  }
  throw new NoIdsError(`${path} gives the user ${names[0]} no range of 65536 ids`);
}

/** Creates a user namespace and returns it as an open file. The process that creates it exits at once. */
async function holdNamespace(args: string[], map: (pid: string) => Promise<void>): Promise<number> {
  const child = spawn("unshare", ["--user", ...args, "sh", "-c", "echo $$; read -r _ || :"], {
    stdio: ["pipe", "pipe", "pipe"],
    env: environment,
    cwd: "/",
  });
  child.stdin.on("error", () => {});
  const exit = once(child, "exit").catch((error) => [error]);
  try {
    const [pid] = await Promise.race([
      once(createInterface({ input: child.stdout }), "line"),
      exit.then(() => {
        throw new Error("unshare cannot create a user namespace");
      }),
    ]);
    await map(pid);
    return openSync(`/proc/${Number(pid)}/ns/user`, "r");
  } finally {
    child.stdin.end();
  }
}
