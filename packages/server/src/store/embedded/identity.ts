import { spawnSync } from "node:child_process";
import { lchownSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The account PostgreSQL runs under when root starts it; undefined means our own. */
export interface Identity {
  uid: number;
  gid: number;
}

const remedy = "start Outrider as an ordinary user or set DATABASE_URL";

/** PostgreSQL refuses to run as root. A cluster that an ordinary user made stays with that user. */
export function chooseIdentity(cluster: string): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = lstatSync(cluster, { throwIfNoEntry: false });
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : nobody();
}

function nobody(): Identity {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith("nobody:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  // darwin lists nobody as -2, which chown wants unsigned.
  return { uid: Number(uid ?? 65534) >>> 0, gid: Number(gid ?? 65534) >>> 0 };
}

/** Options for the programs of PostgreSQL. Our own environment stays out: it may hold keys. */
export function runAs(identity: Identity | undefined) {
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
  // Our working directory may be out of that account's reach, which initdb takes for an error.
  const options = { cwd: "/", env };
  // spawn wants signed 32 bit numbers.
  return identity ? { ...options, uid: identity.uid | 0, gid: identity.gid | 0 } : options;
}

/** Asks the kernel by a process of that account, so that access lists and mount options count too. */
export function passesTest(identity: Identity | undefined, test: "-x" | "-r", path: string): boolean {
  const args = ["-c", 'test "$1" "$2"', "sh", test, path];
  const { status, error } = spawnSync("/bin/sh", args, { ...runAs(identity), stdio: "ignore" });
  if (error) throw new Error(`Cannot run a program as uid ${identity?.uid} (${error.message}): ${remedy}.`);
  return status === 0;
}

/** The folder itself comes last: a walk that was interrupted is done again at the next start. */
export function giveTo(identity: Identity | undefined, path: string): void {
  const stat = lstatSync(path);
  if (!identity || stat.uid === identity.uid) return;
  if (stat.isDirectory()) for (const name of readdirSync(path)) giveTo(identity, join(path, name));
  lchownSync(path, identity.uid, identity.gid);
}
