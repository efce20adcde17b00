import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from "node:crypto";
import { openVault } from "../vault.ts";
import type { Manifest } from "./manifest.ts";
import { Unfit } from "./unfit.ts";

type SealedKey = NonNullable<Manifest["master_key"]["sealed"]>;

/** A guess takes a third of a second and 128 MiB: whoever has the file can try as often as they like. */
const COST = 2 ** 17;
const BLOCK = 8;
const TAG = 16;
export const PASSPHRASE_LENGTH = 12;

function derive(passphrase: string, salt: Buffer, cost: number): Buffer {
  // One passphrase, however a keyboard composes its letters.
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
    throw new Unfit("The passphrase does not open the master key in this backup.");
  }
}

export function fingerprintOf(masterKey: Buffer): string {
  return openVault(masterKey).fingerprint;
}
