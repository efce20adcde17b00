import { randomBytes } from "node:crypto";
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Logger } from "pino";
import { initdbAccount } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import { renameDurably } from "./files.ts";
import { giveTo, type Identity } from "./identity.ts";
import { initialize } from "./initdb.ts";
import { endInitdb } from "./leftovers.ts";
import { createPassword, readPassword } from "./password.ts";
import type { ClusterPaths } from "./paths.ts";

/** Creates the cluster if it does not exist. Returns the superuser's password. */
export async function ensureCluster(options: {
  paths: ClusterPaths;
  binaries: Binaries;
  log: Logger;
}): Promise<string> {
  const { paths, binaries, log } = options;
  await removeDrafts(paths.cluster);
  if (lstatSync(paths.entry, { throwIfNoEntry: false })) {
    checkVersion(paths.cluster, binaries.major);
    giveTo(paths.identity, paths.cluster);
    return readPassword(paths) ?? missingPassword(paths);
  }
  const password = readPassword(paths) ?? createPassword(paths);
  moveUnlinkedAside(paths.cluster, log);
  log.info({ cluster: paths.cluster, uid: paths.identity?.uid }, "creating PostgreSQL cluster");
  await createCluster({ paths, binaries, password });
  return password;
}

function missingPassword({ passwordPath, entry }: ClusterPaths): never {
  throw new Error(
    `${passwordPath} is missing. Restore it: the database in ${entry} cannot be opened without it.`,
  );
}

function checkVersion(cluster: string, major: string): void {
  const path = join(cluster, "PG_VERSION");
  if (!existsSync(path))
    throw new Error(`${cluster} is not a PostgreSQL cluster. Move it to another location.`);
  const found = readFileSync(path, "utf8").trim();
  if (found === major) return;
  throw new Error(
    `The database in ${cluster} was created by PostgreSQL ${found}, but this version of Outrider runs PostgreSQL ${major}. ` +
      `Create a backup with the version of Outrider that created it, and restore it into a new data folder (docs/backup.md).`,
  );
}

/** Removes the remains of interrupted initdb runs. A cluster is renamed to its final name only when it is complete. */
async function removeDrafts(cluster: string): Promise<void> {
  const prefix = `${cluster}.tmp-`;
  await endInitdb(prefix);
  const drafts = readdirSync(dirname(cluster)).filter((name) => name.startsWith(basename(prefix)));
  for (const name of drafts) {
    await rm(join(dirname(cluster), name), { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * Renames a cluster whose data folder was deleted and recreated. The cluster is kept in case the deletion was a
 * mistake.
 */
function moveUnlinkedAside(cluster: string, log: Logger): void {
  if (!existsSync(cluster)) return;
  const aside = `${cluster}.unlinked-${new Date().toISOString().replaceAll(/\D/g, "")}`;
  log.warn({ cluster, aside }, "moved aside a database that no data folder links to");
  renameDurably(cluster, aside);
}

async function createCluster(options: {
  paths: ClusterPaths;
  binaries: Binaries;
  password: string;
}): Promise<void> {
  const { paths, binaries, password } = options;
  const { cluster, entry } = paths;
  const identity = initdbAccount(paths.identity);
  const draft = `${cluster}.tmp-${randomBytes(6).toString("hex")}`;
  const passwordFile = `${draft}.password`;
  try {
    makeFor(identity, draft, () => mkdirSync(draft, { mode: 0o700 }));
    makeFor(identity, passwordFile, () => writeFileSync(passwordFile, password, { flag: "wx", mode: 0o600 }));
    await initialize({ initdb: binaries.initdb, draft, passwordFile, identity });
    giveTo(paths.identity, draft);
    renameDurably(draft, cluster);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, { recursive: true, force: true });
  }
  if (entry !== cluster) symlinkSync(cluster, entry);
}

function makeFor(identity: Identity | undefined, path: string, make: () => void): void {
  make();
  if (identity) chownSync(path, identity.uid, identity.gid);
}
