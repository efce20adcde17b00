import { spawnSync } from "node:child_process";
import { lchownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Account, ensureAccount, nobodyAccount } from "./account.ts";

/** The account under which PostgreSQL runs when this process is root. Undefined means this process's own account. */
export type Identity = Account;

const remedy = "start Outrider as an ordinary user or set DATABASE_URL";

/**
 * Returns the account for PostgreSQL, which refuses to run as root. If this process is root, that is the cluster's
 * owner or Outrider's own account. A cluster that belongs to `nobody` was created by an earlier version. It gets a new
 * owner, because other services also run as `nobody`.
 */
export function chooseIdentity(cluster: string, dataDir: string): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = lstatSync(cluster, { throwIfNoEntry: false });
  const isOwned = owner && owner.uid !== 0 && owner.uid !== nobodyAccount().uid;
  return isOwned ? { uid: owner.uid, gid: owner.gid } : ensureAccount(dataDir);
}

/**
 * Returns spawn options for PostgreSQL's programs. The programs do not inherit this process's environment, which may
 * contain keys.
 */
export function runAs(identity: Identity | undefined) {
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
  // initdb fails if the account cannot access the working directory.
  const options = { cwd: "/", env };
  // spawn expects signed 32-bit numbers.
  return identity ? { ...options, uid: identity.uid | 0, gid: identity.gid | 0 } : options;
}

/** Tests access by running a process as that account, so that the result reflects ACLs and mount options. */
export function passesTest(identity: Identity | undefined, test: "-x" | "-r", path: string): boolean {
  const args = ["-c", 'test "$1" "$2"', "sh", test, path];
  const { status, error } = spawnSync("/bin/sh", args, { ...runAs(identity), stdio: "ignore" });
  if (error) throw new Error(`Cannot run a program as uid ${identity?.uid} (${error.message}): ${remedy}.`);
  return status === 0;
}

/**
 * Changes the owner of a folder and its contents. The folder itself is changed last, so that an interrupted change is
 * repeated at the next start. Until then it belongs to root, so that processes of the previous owner cannot replace its
 * contents with symbolic links.
 */
export function giveTo(identity: Identity | undefined, path: string): void {
  const stat = lstatSync(path);
  if (!identity || stat.uid === identity.uid) return;
  if (stat.isDirectory()) {
    lchownSync(path, 0, 0);
    for (const name of readdirSync(path)) giveTo(identity, join(path, name));
  }
  lchownSync(path, identity.uid, identity.gid);
}
