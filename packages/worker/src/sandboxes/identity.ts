import { randomInt } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The account that the sandboxes' processes have on the host. */
export interface Identity {
  uid: number;
  gid: number;
}

/** Above begin the ranges of systemd and the uid 65534, which our PostgreSQL uses. */
const range = [21500, 58364] as const;

/**
 * The unprivileged account of a worker that is root; undefined for an ordinary user, whose sandboxes run under the
 * user's own. All sandboxes of one folder share it, because the files of a base belong to whoever works on it; what
 * keeps them apart are namespaces. It is remembered, so that a base stays readable when the worker is started again,
 * and chosen at random, so that two workers of one host seldom meet.
 */
export function rememberIdentity(root: string): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const path = join(root, ".uid");
  try {
    writeFileSync(path, `${randomInt(...range)}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const uid = Number(readFileSync(path, "utf8"));
  if (!(uid >= range[0] && uid < range[1])) throw new Error(`${path} holds no uid for sandboxes: remove it.`);
  return { uid, gid: uid };
}
