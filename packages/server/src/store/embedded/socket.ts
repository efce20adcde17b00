import { createHash } from "node:crypto";
import { chownSync, lstatSync, mkdirSync, rmdirSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Identity, passesTest } from "./identity.ts";
import type { Place } from "./place.ts";

/** Every cluster has a socket folder of its own, so the number never clashes. */
export const port = 5432;

// The kernel's limit is 108 bytes on Linux and 104 on darwin.
const longestPath = 100;

export function socketPath(folder: string): string {
  return join(folder, `.s.PGSQL.${port}`);
}

/** The cluster's own folder, which is private already, unless its path is too long for a socket. */
export function prepareSocketFolder({ cluster, identity }: Place): string {
  if (fits(cluster)) return cluster;
  const name = `outrider-${createHash("sha256").update(cluster).digest("hex").slice(0, 16)}`;
  const parent = [tmpdir(), "/tmp"].find(
    (path) => fits(join(path, name)) && passesTest(identity, "-x", path),
  );
  if (!parent)
    throw new Error(`No folder for PostgreSQL's socket: ${cluster} and ${tmpdir()} are too long a path.`);
  return makePrivate(join(parent, name), identity);
}

export function removeSocketFolder(place: Place, folder: string): void {
  if (folder === place.cluster) return;
  try {
    rmdirSync(folder);
  } catch {
    // Gone, or not empty after a hard kill: the next start uses it again.
  }
}

function fits(folder: string): boolean {
  return Buffer.byteLength(socketPath(folder)) <= longestPath;
}

// Anybody may write to the parent: what somebody else put there under our name must not be used.
function makePrivate(folder: string, identity: Identity | undefined): string {
  const owner = identity ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  try {
    mkdirSync(folder, { mode: 0o700 });
    chownSync(folder, owner.uid, owner.gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const stat = lstatSync(folder);
  if (!stat.isDirectory() || stat.uid !== owner.uid || stat.mode & 0o077) {
    throw new Error(`${folder} does not belong to uid ${owner.uid} alone: remove it.`);
  }
  return folder;
}

/** Whether a server listens there, be it one whose process we cannot see. */
export function isAnswering(folder: string): Promise<boolean> {
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
