import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

/** Encrypts and signs data with keys derived from the master key, one for each purpose. */
export interface Vault {
  /** Encrypts with AES-256-GCM. `context` identifies the value; `open` must be called with the same context. */
  seal(plain: string, context: string): Buffer;
  open(sealed: Buffer, context: string): string;
  sign(data: Buffer): Buffer;
  /** Identifies the master key without revealing its value. */
  fingerprint: string;
}

const VERSION = 1;
const NONCE = 12;
const TAG = 16;

export function openVault(masterKey: Buffer): Vault {
  const derive = (use: string) => Buffer.from(hkdfSync("sha256", masterKey, "", `outrider ${use}`, 32));
  const sealing = derive("secrets");
  const signing = derive("cursors");
  return {
    fingerprint: derive("fingerprint").toString("hex").slice(0, 32),
    seal(plain, context) {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv("aes-256-gcm", sealing, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.from([VERSION]), nonce, body, cipher.getAuthTag()]);
    },
    open(sealed, context) {
      if (sealed[0] !== VERSION) throw new Error("The sealed value has an unknown version.");
      const nonce = sealed.subarray(1, 1 + NONCE);
      const decipher = createDecipheriv("aes-256-gcm", sealing, nonce)
        .setAAD(Buffer.from(context))
        .setAuthTag(sealed.subarray(-TAG));
      return Buffer.concat([decipher.update(sealed.subarray(1 + NONCE, -TAG)), decipher.final()]).toString(
        "utf8",
      );
    },
    sign: (data) => createHmac("sha256", signing).update(data).digest(),
  };
}
