import { createHmac, randomBytes } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The mirror cache's folders and files. */
export interface CacheFolders {
  mirrors: string;
  /**
   * Contains one lock file per mirror. Lock files are never removed, because a lock on a removed file would not exclude
   * processes that lock its replacement.
   */
  locks: string;
  /** Contains mirrors that are being created or removed. */
  scratch: string;
  /** The known_hosts file that records host keys when they are first seen. */
  seenHosts: string;
  /** The HMAC key for mirror names, so that a name reveals nothing about a credential. */
  salt: Buffer;
}

export interface MirrorPaths {
  folder: string;
  lockFile: string;
  objectFormat: string;
}

/** Creates the cache folders. Repositories may be private, so only the worker can enter these folders. */
export function makeCacheFolders(root: string): CacheFolders {
  const inRoot = (name: string) => join(root, name);
  for (const folder of [root, inRoot("mirrors"), inRoot("locks"), inRoot("scratch")]) {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o700);
  }
  return {
    mirrors: inRoot("mirrors"),
    locks: inRoot("locks"),
    scratch: inRoot("scratch"),
    seenHosts: inRoot("known_hosts"),
    salt: readSalt(inRoot("salt"), inRoot("scratch")),
  };
}

/**
 * Returns a mirror's paths. Its name depends on the URL, the object format, whether it is partial, and the `sharedBy`
 * name or the credential.
 */
export function mirrorPaths(
  folders: CacheFolders,
  options: {
    url: string;
    credential?: string;
    sharedBy?: string;
    sparsePaths?: string[];
    format: { name: string };
  },
): MirrorPaths {
  const { url, credential, sharedBy, format } = options;
  const owner = sharedBy === undefined ? ["credential", credential ?? ""] : ["name", sharedBy];
  const kind = options.sparsePaths ? ["partial"] : [];
  const key = JSON.stringify([url, format.name, ...owner, ...kind]);
  const name = createHmac("sha256", folders.salt).update(key).digest("hex").slice(0, 40);
  const objectFormat = format.name;
  return { folder: join(folders.mirrors, `${name}.git`), lockFile: join(folders.locks, name), objectFormat };
}

/** Reads the salt. Creates it atomically if it does not exist, because several workers may share the folder. */
function readSalt(path: string, scratch: string): Buffer {
  const draft = join(scratch, `salt-${randomBytes(8).toString("hex")}`);
  writeFileSync(draft, randomBytes(32), { mode: 0o600, flush: true });
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft);
  }
  return readFileSync(path);
}
