import { createHash } from "node:crypto";
import { chmodSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Logger } from "pino";
import { makeFolder } from "./files.ts";
import { chooseIdentity, type Identity, passesTest } from "./identity.ts";

/** The paths that a data folder's embedded PostgreSQL uses. All of them are canonical. */
export interface ClusterPaths {
  dataDir: string;
  /** The cluster's path in the data folder: the cluster itself, or a symbolic link to it. */
  entry: string;
  cluster: string;
  logPath: string;
  passwordPath: string;
  identity: Identity | undefined;
}

/**
 * If the server runs as root, this folder contains files that PostgreSQL's unprivileged account could not reach in the
 * data folder.
 */
export const sharedRoot = "/var/lib/outrider";

export function prepareDataDir(path: string): string {
  const dataDir = resolve(path);
  const isRoot = process.getuid?.() === 0;
  // PostgreSQL's account must be able to traverse root's data folder, but not to list it.
  makeFolder(dataDir, isRoot ? 0o711 : 0o700);
  const { mode, uid } = statSync(dataDir);
  if (isRoot && uid === 0 && !(mode & 0o001)) chmodSync(dataDir, (mode & 0o7777) | 0o011);
  return realpathSync(dataDir);
}

export function choosePaths({ dataDir, log }: { dataDir: string; log: Logger }): ClusterPaths {
  const entry = join(dataDir, "postgres");
  const existing = existingCluster(entry);
  const identity = chooseIdentity(existing ?? entry, dataDir);
  const paths = {
    dataDir,
    entry,
    cluster: existing ?? entry,
    logPath: join(dataDir, "postgres.log"),
    passwordPath: join(dataDir, "postgres.password"),
    identity,
  };
  if (!identity || passesTest(identity, "-x", dirname(paths.cluster))) return paths;
  if (existing) {
    throw new Error(
      `PostgreSQL runs as uid ${identity.uid}, which cannot access the database in ${existing}. ` +
        "Make the folders above it traversable (chmod o+x) or set DATABASE_URL.",
    );
  }
  const cluster = join(createSharedFolder(dataDir), "postgres");
  const message = "PostgreSQL's account cannot access the data folder, using another folder for the database";
  log.info({ dataDir, uid: identity.uid, cluster }, message);
  return { ...paths, cluster };
}

function existingCluster(entry: string): string | undefined {
  const stat = lstatSync(entry, { throwIfNoEntry: false });
  if (!stat) return undefined;
  try {
    return realpathSync(entry);
  } catch {
    throw new Error(
      `The database of this data folder is missing: ${entry} links to ${readlinkSync(entry)}, which does not exist. ` +
        "Restore it, or remove the link to start with an empty database.",
    );
  }
}

function createSharedFolder(dataDir: string): string {
  const home = join(sharedRoot, createHash("sha256").update(dataDir).digest("hex").slice(0, 16));
  try {
    makeFolder(sharedRoot, 0o711);
    makeFolder(home, 0o711);
  } catch (error) {
    throw new Error(
      `Cannot create ${home} (${(error as Error).message}). ` +
        "Set OUTRIDER_DATA_DIR to a folder that an unprivileged account can access, or set DATABASE_URL.",
    );
  }
  return home;
}
