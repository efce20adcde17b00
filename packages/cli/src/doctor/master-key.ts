import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "@outrider/server/config";
import { openVault } from "@outrider/server/engine/auth/vault";
import type { openDb } from "@outrider/server/store/connection/db";
import { findInstallationFact } from "@outrider/server/store/installation";
import { type Finding, fail, ok, warn } from "./finding.ts";

const name = "master key";

/** Compares fingerprints to check that this machine has the database's master key. */
export async function secretFindings(
  db: ReturnType<typeof openDb>,
  { masterKey, dataDir }: Config,
): Promise<Finding[]> {
  const expected = await findInstallationFact(db, "master_key_fingerprint").catch(() => undefined);
  if (!expected) return [];
  const stored = await readFile(join(dataDir, "master.key"), "utf8").catch(() => undefined);
  const key = masterKey ?? (stored ? Buffer.from(stored, "base64") : undefined);
  if (!key) return [warn(name, `not found; the database uses ${short(expected)}`, "set OUTRIDER_MASTER_KEY")];
  const { fingerprint } = openVault(key);
  if (fingerprint !== expected)
    return [
      fail(
        name,
        `${short(fingerprint)} does not match the database, which uses ${short(expected)}`,
        "set OUTRIDER_MASTER_KEY to the right key, or use the data directory with the right master.key",
      ),
    ];
  return [ok(name, `${short(fingerprint)}, matches the database`)];
}

const short = (fingerprint: string) => fingerprint.slice(0, 8);
