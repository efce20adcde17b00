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
import type { Binaries } from "./binaries.ts";
import { renameDurably } from "./files.ts";
import { giveTo, type Identity } from "./identity.ts";
import { initialise } from "./initdb.ts";
import { endInitdb } from "./leftovers.ts";
import { makePassword, readPassword } from "./password.ts";
import type { Place } from "./place.ts";

/** Makes the cluster unless there is one, and returns the superuser's password. */
export async function ensureCluster(options: {
  place: Place;
  binaries: Binaries;
  log: Logger;
}): Promise<string> {
  const { place, binaries, log } = options;
  await removeDrafts(place.cluster);
  if (lstatSync(place.entry, { throwIfNoEntry: false })) {
    checkVersion(place.cluster, binaries.major);
    giveTo(place.identity, place.cluster);
    return readPassword(place) ?? missingPassword(place);
  }
  const password = readPassword(place) ?? makePassword(place);
  setAsideUnlinked(place.cluster, log);
  log.info({ cluster: place.cluster, uid: place.identity?.uid }, "making the PostgreSQL cluster");
  await createCluster({ place, binaries, password });
  return password;
}

function missingPassword({ passwordPath, entry }: Place): never {
  throw new Error(
    `${passwordPath} is missing, without which the database in ${entry} stays closed: restore it.`,
  );
}

function checkVersion(cluster: string, major: string): void {
  const path = join(cluster, "PG_VERSION");
  if (!existsSync(path)) throw new Error(`${cluster} is not a PostgreSQL cluster: move it away.`);
  const found = readFileSync(path, "utf8").trim();
  if (found === major) return;
  throw new Error(
    `The database in ${cluster} was made by PostgreSQL ${found}, but this Outrider runs PostgreSQL ${major}: ` +
      `take a backup with the version of Outrider that made it, and restore it into a new data folder (docs/backup.md).`,
  );
}

/** Only a finished cluster carries its final name, so a draft is always what an interrupted initdb left. */
async function removeDrafts(cluster: string): Promise<void> {
  const prefix = `${cluster}.tmp-`;
  await endInitdb(prefix);
  const drafts = readdirSync(dirname(cluster)).filter((name) => name.startsWith(basename(prefix)));
  for (const name of drafts) {
    await rm(join(dirname(cluster), name), { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Its data folder was removed and made anew; the old database stays, in case that was a mistake. */
function setAsideUnlinked(cluster: string, log: Logger): void {
  if (!existsSync(cluster)) return;
  const aside = `${cluster}.unlinked-${new Date().toISOString().replaceAll(/\D/g, "")}`;
  log.warn({ cluster, aside }, "no link leads to this database any more: moved aside");
  renameDurably(cluster, aside);
}

async function createCluster(options: { place: Place; binaries: Binaries; password: string }): Promise<void> {
  const { place, binaries, password } = options;
  const { cluster, entry, identity } = place;
  const draft = `${cluster}.tmp-${randomBytes(6).toString("hex")}`;
  const passwordFile = `${draft}.password`;
  try {
    makeFor(identity, draft, () => mkdirSync(draft, { mode: 0o700 }));
    makeFor(identity, passwordFile, () => writeFileSync(passwordFile, password, { flag: "wx", mode: 0o600 }));
    await initialise({ initdb: binaries.initdb, draft, passwordFile, identity });
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
