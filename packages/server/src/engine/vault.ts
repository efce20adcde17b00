import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

/** What the master key protects. Each use has its own derived key, so that none can stand in for another. */
export interface Vault {
  /** AES-256-GCM; `context` says what the value is and must be the same when it is opened. */
  seal(plain: string, context: string): Buffer;
  open(sealed: Buffer, context: string): string;
  sign(data: Buffer): Buffer;
  /** Tells two master keys apart without telling anything of them. */
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
      if (sealed[0] !== VERSION) throw new Error("A sealed value has an unknown version.");
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
