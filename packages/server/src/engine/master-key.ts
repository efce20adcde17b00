import { randomBytes } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

const nameIn = (dataDir: string) => join(dataDir, "master.key");

/** The one in the data folder, where there is one. */
export async function readMasterKey(dataDir: string): Promise<Buffer | undefined> {
  const kept = await readFile(nameIn(dataDir), "utf8").catch(() => undefined);
  return kept ? Buffer.from(kept, "base64") : undefined;
}

export async function keepMasterKey(dataDir: string, key: Buffer): Promise<void> {
  await writePrivately(nameIn(dataDir), `${key.toString("base64")}\n`);
}

/** The one in the data folder, which is made where there is none. */
export async function ownMasterKey(dataDir: string): Promise<Buffer> {
  const kept = await readMasterKey(dataDir);
  if (kept) return kept;
  const key = randomBytes(32);
  await keepMasterKey(dataDir, key);
  return key;
}

/** Whole or not at all, on disk before it is relied on, and readable for its owner alone. */
export async function writePrivately(file: string, text: string) {
  const handle = await open(`${file}.new`, "w", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.new`, file);
}
