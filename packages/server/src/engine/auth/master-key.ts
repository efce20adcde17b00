import { randomBytes } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

const pathIn = (dataDir: string) => join(dataDir, "master.key");

/** Reads the master key from the data folder. Returns undefined if there is none. */
export async function readMasterKey(dataDir: string): Promise<Buffer | undefined> {
  const stored = await readFile(pathIn(dataDir), "utf8").catch(() => undefined);
  return stored ? Buffer.from(stored, "base64") : undefined;
}

export async function storeMasterKey(dataDir: string, key: Buffer): Promise<void> {
  await writePrivateFile(pathIn(dataDir), `${key.toString("base64")}\n`);
}

/** Reads the master key from the data folder, or creates one if there is none. */
export async function loadOrCreateMasterKey(dataDir: string): Promise<Buffer> {
  const stored = await readMasterKey(dataDir);
  if (stored) return stored;
  const key = randomBytes(32);
  await storeMasterKey(dataDir, key);
  return key;
}

/** Writes a file atomically and durably. Only its owner can read it. */
export async function writePrivateFile(file: string, text: string) {
  const handle = await open(`${file}.new`, "w", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.new`, file);
}
