import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** A uid and gid under which processes run. */
export interface Account {
  uid: number;
  gid: number;
}

/** The system account under which PostgreSQL runs if root starts the server. */
export const accountName = "outrider-postgres";

/**
 * The uids for systems on which the account cannot be created. They are above the uids of sandboxes and below those
 * that systemd assigns.
 */
const reservedUids = { first: 58_400, count: 1_500 };

/** Returns Outrider's own account for PostgreSQL, and creates it if it does not exist. */
export function ensureAccount(dataDir: string): Account {
  const existing = findAccount(accountName);
  if (existing) return existing;
  createAccount();
  // Another server may have created the account at the same time, so only the result counts.
  return findAccount(accountName) ?? reservedAccount(dataDir);
}

/** Returns the account `nobody`, under which earlier versions ran PostgreSQL. */
export function nobodyAccount(): Account {
  return findAccount("nobody") ?? { uid: 65_534, gid: 65_534 };
}

/**
 * Returns the account under which initdb runs. It refuses to run under a uid without an entry in /etc/passwd, whereas
 * the server itself does not need one.
 */
export function initdbAccount(account: Account | undefined): Account | undefined {
  const isListed = account && readAccounts().some(({ uid }) => uid === account.uid);
  return account && !isListed ? nobodyAccount() : account;
}

export function findAccount(name: string): Account | undefined {
  const found = readAccounts().find((entry) => entry.name === name);
  return found && { uid: found.uid, gid: found.gid };
}

/** Returns the name of the account with this uid, if the system has one. */
export function findAccountName(uid: number): string | undefined {
  return readAccounts().find((entry) => entry.uid === uid)?.name;
}

function createAccount(): void {
  const options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"];
  try {
    execFileSync("useradd", [...options, "--shell", "/usr/sbin/nologin", accountName], {
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
      stdio: "ignore",
    });
  } catch {
    // The system has no useradd, or its list of accounts is read-only. The caller then uses a reserved uid.
  }
}

/**
 * Derives a uid from the data folder, so that it is the same at every start. Skips uids of the system's accounts, which
 * belong to someone else.
 */
function reservedAccount(dataDir: string): Account {
  const used = new Set(readAccounts().map(({ uid }) => uid));
  const { first, count } = reservedUids;
  const start = createHash("sha256").update(dataDir).digest().readUInt32BE(0);
  for (let offset = 0; offset < count; offset++) {
    const uid = first + ((start + offset) % count);
    if (!used.has(uid)) return { uid, gid: uid };
  }
  throw new Error(
    `PostgreSQL needs a free uid between ${first} and ${first + count - 1}, but accounts of this system use all of them. ` +
      "Start Outrider as an ordinary user or set DATABASE_URL.",
  );
}

function readAccounts(): (Account & { name: string })[] {
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  return lines.flatMap((line) => {
    const [name = "", , uid, gid] = line.split(":");
    // On macOS, the ID of `nobody` is -2, but chown expects an unsigned number.
    return uid && gid ? [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }] : [];
  });
}
