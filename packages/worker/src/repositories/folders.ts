import { createHmac, randomBytes } from "node:crypto";
import { chmodSync, chownSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Folders {
  mirrors: string;
  /** A lock for each mirror. They are never removed: one that waits at a removed lock would not exclude anyone. */
  locks: string;
  /** What is being made or being removed. */
  scratch: string;
  /** The host keys that were seen. */
  seenHosts: string;
  /** Makes names of mirrors out of addresses and credentials, so that no name tells of a credential. */
  salt: Buffer;
}

export interface Place {
  folder: string;
  lockFile: string;
  objectFormat: string;
}

/** Repositories may be private: nobody else on this host gets in, but for the sandboxes' group, and only to mirrors. */
export function makeFolders(root: string, readers: number | undefined): Folders {
  const inside = (name: string) => join(root, name);
  for (const each of [root, inside("mirrors"), inside("locks"), inside("scratch")]) {
    mkdirSync(each, { recursive: true });
    const isPassage = readers !== undefined && (each === root || each === inside("mirrors"));
    if (isPassage) chownSync(each, -1, readers);
    chmodSync(each, isPassage ? 0o710 : 0o700);
  }
  return {
    mirrors: inside("mirrors"),
    locks: inside("locks"),
    scratch: inside("scratch"),
    seenHosts: inside("known_hosts"),
    salt: readSalt(inside("salt"), inside("scratch")),
  };
}

export function mirrorPlace(
  folders: Folders,
  options: { url: string; credential?: string; sharedBy?: string; format: { name: string } },
): Place {
  const { url, credential, sharedBy, format } = options;
  const owner = sharedBy === undefined ? ["credential", credential ?? ""] : ["name", sharedBy];
  const identity = JSON.stringify([url, format.name, ...owner]);
  const name = createHmac("sha256", folders.salt).update(identity).digest("hex").slice(0, 40);
  const objectFormat = format.name;
  return { folder: join(folders.mirrors, `${name}.git`), lockFile: join(folders.locks, name), objectFormat };
}

/** Whole or not at all, and the same for all who share the folder. */
function readSalt(path: string, scratch: string): Buffer {
  const beside = join(scratch, `salt-${randomBytes(8).toString("hex")}`);
  writeFileSync(beside, randomBytes(32), { mode: 0o600, flush: true });
  try {
    linkSync(beside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(beside);
  }
  return readFileSync(path);
}
