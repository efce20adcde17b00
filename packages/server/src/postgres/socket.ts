import { createHash } from "node:crypto";
import { chownSync, lchownSync, lstatSync, mkdirSync, rmdirSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nobodyAccount } from "./account.ts";
import { type Identity, passesTest } from "./identity.ts";
import type { ClusterPaths } from "./paths.ts";

/** Every cluster has its own socket folder, so the same port can be used for all of them. */
export const port = 5432;

// The kernel limits socket paths to 108 bytes on Linux and 104 on macOS.
const maxPathBytes = 100;

export function socketPath(folder: string): string {
  return join(folder, `.s.PGSQL.${port}`);
}

/** Returns the folder for the socket: the cluster itself, or a private folder if the cluster's path is too long. */
export function prepareSocketFolder({ cluster, identity }: ClusterPaths): string {
  if (fits(cluster)) return cluster;
  const name = `outrider-${createHash("sha256").update(cluster).digest("hex").slice(0, 16)}`;
  const parent = [tmpdir(), "/tmp"].find(
    (path) => fits(join(path, name)) && passesTest(identity, "-x", path),
  );
  if (!parent)
    throw new Error(`No folder for PostgreSQL's socket: the paths ${cluster} and ${tmpdir()} are too long.`);
  return createPrivateFolder(join(parent, name), identity);
}

export function removeSocketFolder(paths: ClusterPaths, folder: string): void {
  if (folder === paths.cluster) return;
  try {
    rmdirSync(folder);
  } catch {
    // The folder was already removed, or it is not empty after a crash. The next start uses it again.
  }
}

function fits(folder: string): boolean {
  return Buffer.byteLength(socketPath(folder)) <= maxPathBytes;
}

// Every user can write to the parent, so a folder that belongs to another user must not be used.
function createPrivateFolder(folder: string, identity: Identity | undefined): string {
  const owner = identity ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  try {
    mkdirSync(folder, { mode: 0o700 });
    chownSync(folder, owner.uid, owner.gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // Left over from an earlier version.
    if (identity && lstatSync(folder).uid === nobodyAccount().uid) lchownSync(folder, owner.uid, owner.gid);
  }
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || stat.uid !== owner.uid || stat.mode & 0o077) {
    throw new Error(`${folder} is not private to uid ${owner.uid}. Remove it.`);
  }
  return folder;
}

/** Returns whether a server is listening on the socket, even if its process is not visible. */
export function isListening(folder: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath(folder));
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => finish(true));
    socket.once("error", () => finish(false));
  });
}
