import { randomInt } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The account under which sandbox processes run on the host. */
export interface UnixAccount {
  uid: number;
  gid: number;
}

/** Ends below the uids that are reserved for Outrider's PostgreSQL and below systemd's dynamic uid ranges. */
const uidRange = [21500, 58364] as const;

/**
 * Returns the unprivileged account for sandboxes if the worker is root. Returns undefined for an ordinary user, whose
 * sandboxes run as that user.
 *
 * All sandboxes in one root folder share the account, because they share the files of a base; namespaces isolate them
 * from each other. The uid is stored, so that bases remain readable after a restart. It is chosen at random, so that
 * two workers on one host rarely get the same one.
 */
export function loadUnixAccount(root: string): UnixAccount | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const path = join(root, ".uid");
  try {
    writeFileSync(path, `${randomInt(...uidRange)}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const uid = Number(readFileSync(path, "utf8"));
  if (!(uid >= uidRange[0] && uid < uidRange[1]))
    throw new Error(`${path} does not contain a valid sandbox uid. Remove the file.`);
  return { uid, gid: uid };
}
