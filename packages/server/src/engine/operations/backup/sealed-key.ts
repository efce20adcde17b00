import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from "node:crypto";
import { openVault } from "../../auth/vault.ts";
import { BackupError } from "./backup-error.ts";
import type { Manifest } from "./manifest.ts";

type SealedKey = NonNullable<Manifest["master_key"]["sealed"]>;

/** Makes each guess cost about 0.3 s and 128 MiB, because an attacker who has the file can make unlimited guesses. */
const COST = 2 ** 17;
const BLOCK = 8;
const TAG = 16;
export const MIN_PASSPHRASE_LENGTH = 12;

function derive(passphrase: string, salt: Buffer, cost: number): Buffer {
  // Input methods may encode the same character differently, so the passphrase is normalized.
  return scryptSync(passphrase.normalize("NFC"), salt, 32, {
    N: cost,
    r: BLOCK,
    p: 1,
    maxmem: 256 * BLOCK * cost,
  });
}

export function sealMasterKey(masterKey: Buffer, passphrase: string): SealedKey {
  const salt = randomBytes(16);
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", derive(passphrase, salt, COST), nonce);
  const box = Buffer.concat([cipher.update(masterKey), cipher.final(), cipher.getAuthTag()]);
  return {
    kdf: "scrypt",
    cost: COST,
    salt: salt.toString("base64"),
    nonce: nonce.toString("base64"),
    box: box.toString("base64"),
  };
}

export function openMasterKey({ cost, salt, nonce, box }: SealedKey, passphrase: string): Buffer {
  const bytes = Buffer.from(box, "base64");
  try {
    const key = derive(passphrase, Buffer.from(salt, "base64"), cost);
    const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(nonce, "base64"));
    decipher.setAuthTag(bytes.subarray(-TAG));
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG)), decipher.final()]);
  } catch {
    throw new BackupError("The passphrase is wrong: it does not decrypt the master key in this backup.");
  }
}

export function fingerprintOf(masterKey: Buffer): string {
  return openVault(masterKey).fingerprint;
}
