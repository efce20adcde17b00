import { createPrivateKey, X509Certificate } from "node:crypto";
import { unwatchFile, watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Logger } from "pino";
import type { Files } from "./self-signed.ts";

/** By asking, not by being told: links that are turned to another folder and network disks tell nobody. */
const LOOK_MS = 1_000;
/** Certificate and key are two files, and whoever renews them writes one after the other. */
const SETTLE_MS = 500;
const SOON_MS = 14 * 86_400_000;

export interface Pair {
  cert: string;
  key: string;
  /** SHA-256, as browsers and openssl show it. */
  fingerprint: string;
  until: Date;
}

/** Reads a certificate and its key; throws with the file and what is wrong with it. Errors never quote the key. */
export async function readPair({ cert: certFile, key: keyFile }: Files): Promise<Pair> {
  const [cert, key] = [await read(certFile), await read(keyFile)];
  const certificate = attempt(() => new X509Certificate(cert), `${certFile} is no certificate in PEM`);
  const privateKey = attempt(
    () => createPrivateKey(key),
    `${keyFile} is no private key in PEM without a passphrase`,
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`The certificate in ${certFile} belongs to another key than the one in ${keyFile}.`);
  }
  attempt(() => createSecureContext({ cert, key }), `${certFile} holds something that TLS cannot use`);
  return { cert, key, fingerprint: certificate.fingerprint256, until: certificate.validToDate };
}

async function read(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error) => {
    throw new Error(`${file} cannot be read: ${error.code ?? error.message}.`);
  });
}

function attempt<T>(work: () => T, complaint: string): T {
  try {
    return work();
  } catch {
    throw new Error(`${complaint}.`);
  }
}

export interface Certificate {
  current(): Pair;
  /** How often changed files were not used. */
  failures(): number;
  /** Reads the files again; what is broken or has run out is refused, and the one before stays in use. */
  reload(): Promise<void>;
  close(): void;
}

/** A pair of files, and whatever they become: `changed` hears of each pair that is good and new. */
export async function openCertificate(
  files: Files,
  { log, changed }: { log: Logger; changed: (pair: Pair) => void },
): Promise<Certificate> {
  let pair = await readPair(files);
  let failures = 0;
  if (isOver(pair)) log.warn({ until: pair.until }, "the certificate has run out; clients will refuse it");
  else if (pair.until.getTime() - Date.now() < SOON_MS)
    log.warn({ until: pair.until }, "the certificate runs out soon");

  async function reload() {
    try {
      const next = await readPair(files);
      if (next.fingerprint === pair.fingerprint) return;
      if (isOver(next) && !isOver(pair)) throw new Error(`The certificate in ${files.cert} has run out.`);
      changed(next);
      pair = next;
      log.info({ fingerprint: next.fingerprint, until: next.until }, "the certificate was renewed");
    } catch (error) {
      failures++;
      log.error({ error }, "a changed certificate is not used; the one before stays");
    }
  }

  let settling: NodeJS.Timeout | undefined;
  const look = () => {
    clearTimeout(settling);
    settling = setTimeout(reload, SETTLE_MS);
  };
  for (const file of [files.cert, files.key]) watchFile(file, { interval: LOOK_MS, persistent: false }, look);
  return {
    current: () => pair,
    failures: () => failures,
    reload,
    close() {
      clearTimeout(settling);
      for (const file of [files.cert, files.key]) unwatchFile(file, look);
    },
  };
}

function isOver({ until }: Pair): boolean {
  return until.getTime() <= Date.now();
}
