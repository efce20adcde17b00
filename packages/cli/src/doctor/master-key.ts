import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "@outrider/server/config";
import { openVault } from "@outrider/server/engine/vault";
import type { openDb } from "@outrider/server/store/db";
import { findFact } from "@outrider/server/store/installation";
import { type Finding, fail, ok, warn } from "./finding.ts";

const name = "master key";

/** Whether this machine holds the key that the database was set up with. Its fingerprint tells nothing of it. */
export async function secretFindings(
  db: ReturnType<typeof openDb>,
  { masterKey, dataDir }: Config,
): Promise<Finding[]> {
  const settled = await findFact(db, "master_key_fingerprint").catch(() => undefined);
  if (!settled) return [];
  const kept = await readFile(join(dataDir, "master.key"), "utf8").catch(() => undefined);
  const key = masterKey ?? (kept ? Buffer.from(kept, "base64") : undefined);
  if (!key)
    return [
      warn(name, `none here; the database was set up with ${short(settled)}`, "set OUTRIDER_MASTER_KEY"),
    ];
  const { fingerprint } = openVault(key);
  if (fingerprint !== settled)
    return [
      fail(
        name,
        `${short(fingerprint)}, but the database was set up with ${short(settled)}`,
        "start with the same OUTRIDER_MASTER_KEY, or with the data folder that holds its master.key",
      ),
    ];
  return [ok(name, `${short(fingerprint)}, as the database was set up`)];
}

const short = (fingerprint: string) => fingerprint.slice(0, 8);
