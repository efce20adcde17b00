import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "@outrider/server/config";
import { openVault, type Vault } from "@outrider/server/engine/auth/vault";
import type { openDb } from "@outrider/server/store/connection/db";
import { findInstallationFact } from "@outrider/server/store/installation";
import { type Finding, fail, ok, warn } from "./finding.ts";

const name = "master key";

/** Compares fingerprints to check that this machine has the database's master key. */
export async function secretFindings(db: ReturnType<typeof openDb>, config: Config): Promise<Finding[]> {
  const expected = await findInstallationFact(db, "master_key_fingerprint").catch(() => undefined);
  if (!expected) return [];
  const vault = await openMasterVault(config);
  if (!vault)
    return [warn(name, `not found; the database uses ${short(expected)}`, "set OUTRIDER_MASTER_KEY")];
  const { fingerprint } = vault;
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

/** Opens the vault with this machine's master key, if it has one. */
export async function openMasterVault({ masterKey, dataDir }: Config): Promise<Vault | undefined> {
  const stored = await readFile(join(dataDir, "master.key"), "utf8").catch(() => undefined);
  const key = masterKey ?? (stored ? Buffer.from(stored, "base64") : undefined);
  return key && openVault(key);
}

const short = (fingerprint: string) => fingerprint.slice(0, 8);
