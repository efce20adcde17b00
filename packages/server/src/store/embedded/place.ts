import { createHash } from "node:crypto";
import { chmodSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Logger } from "pino";
import { makeFolder } from "./files.ts";
import { chooseIdentity, type Identity, passesTest } from "./identity.ts";

/** Where the parts of one data folder's PostgreSQL lie. All paths are canonical. */
export interface Place {
  dataDir: string;
  /** What the data folder calls its cluster: the cluster itself, or a symbolic link to it. */
  entry: string;
  cluster: string;
  logPath: string;
  passwordPath: string;
  identity: Identity | undefined;
}

/** For root: what the unprivileged account cannot reach in the data folder goes below here. */
export const sharedRoot = "/var/lib/outrider";

export function prepareDataDir(path: string): string {
  const dataDir = resolve(path);
  const isRoot = process.getuid?.() === 0;
  // The account of PostgreSQL must pass through root's data folder, but has no business to list it.
  makeFolder(dataDir, isRoot ? 0o711 : 0o700);
  const { mode, uid } = statSync(dataDir);
  if (isRoot && uid === 0 && !(mode & 0o001)) chmodSync(dataDir, (mode & 0o7777) | 0o011);
  return realpathSync(dataDir);
}

export function choosePlace({ dataDir, log }: { dataDir: string; log: Logger }): Place {
  const entry = join(dataDir, "postgres");
  const existing = existingCluster(entry);
  const identity = chooseIdentity(existing ?? entry);
  const place = {
    dataDir,
    entry,
    cluster: existing ?? entry,
    logPath: join(dataDir, "postgres.log"),
    passwordPath: join(dataDir, "postgres.password"),
    identity,
  };
  if (!identity || passesTest(identity, "-x", dirname(place.cluster))) return place;
  if (existing) {
    throw new Error(
      `The database in ${existing} cannot be reached by uid ${identity.uid}, which has to run it: ` +
        "make the folders above it traversable (chmod o+x) or set DATABASE_URL.",
    );
  }
  const cluster = join(makeSharedHome(dataDir), "postgres");
  const message =
    "the data folder is out of reach for the account of PostgreSQL: the database goes elsewhere";
  log.info({ dataDir, uid: identity.uid, cluster }, message);
  return { ...place, cluster };
}

function existingCluster(entry: string): string | undefined {
  const stat = lstatSync(entry, { throwIfNoEntry: false });
  if (!stat) return undefined;
  try {
    return realpathSync(entry);
  } catch {
    throw new Error(
      `The database of this data folder is gone: ${entry} leads to ${readlinkSync(entry)}, which does not exist; ` +
        "restore it, or remove the link to start with an empty database.",
    );
  }
}

function makeSharedHome(dataDir: string): string {
  const home = join(sharedRoot, createHash("sha256").update(dataDir).digest("hex").slice(0, 16));
  try {
    makeFolder(sharedRoot, 0o711);
    makeFolder(home, 0o711);
  } catch (error) {
    throw new Error(
      `Cannot make ${home} (${(error as Error).message}): ` +
        "set OUTRIDER_DATA_DIR to a folder below which an unprivileged account may work, or set DATABASE_URL.",
    );
  }
  return home;
}
