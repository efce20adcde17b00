import { createPrivateKey, X509Certificate } from "node:crypto";
import { unwatchFile, watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Logger } from "pino";
import type { CertificateFiles } from "./self-signed.ts";

/** The files are polled, because network disks and changed symlink targets emit no change events. */
const POLL_MS = 1_000;
/** Waits this long after a change, because the certificate and the key are not written at the same time. */
const SETTLE_MS = 500;
const EXPIRES_SOON_MS = 14 * 86_400_000;

export interface CertificatePair {
  cert: string;
  key: string;
  /** The SHA-256 fingerprint, in the notation that browsers and openssl use. */
  fingerprint: string;
  validUntil: Date;
}

/** Reads a certificate and its key. Errors name the file and the problem, and never quote the key. */
export async function readCertificate({
  cert: certFile,
  key: keyFile,
}: CertificateFiles): Promise<CertificatePair> {
  const [cert, key] = [await read(certFile), await read(keyFile)];
  const certificate = attempt(() => new X509Certificate(cert), `${certFile} is not a PEM certificate`);
  const privateKey = attempt(() => createPrivateKey(key), `${keyFile} is not an unencrypted PEM private key`);
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`The certificate in ${certFile} does not match the private key in ${keyFile}.`);
  }
  attempt(() => createSecureContext({ cert, key }), `${certFile} cannot be used for TLS`);
  return { cert, key, fingerprint: certificate.fingerprint256, validUntil: certificate.validToDate };
}

async function read(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error) => {
    throw new Error(`${file} cannot be read: ${error.code ?? error.message}.`);
  });
}

function attempt<T>(work: () => T, message: string): T {
  try {
    return work();
  } catch {
    throw new Error(`${message}.`);
  }
}

export interface Certificate {
  current(): CertificatePair;
  /** Returns how many times changed files could not be loaded. */
  failures(): number;
  /** Reads the files again. If they are invalid or expired, the previous certificate stays in use. */
  reload(): Promise<void>;
  close(): void;
}

/** Reads a certificate and watches its files. Calls `onRenewed` whenever they contain a new valid certificate. */
export async function openCertificate(
  files: CertificateFiles,
  { log, onRenewed }: { log: Logger; onRenewed: (pair: CertificatePair) => void },
): Promise<Certificate> {
  let pair = await readCertificate(files);
  let failures = 0;
  if (isExpired(pair))
    log.warn({ valid_until: pair.validUntil }, "certificate has expired; clients will reject it");
  else if (pair.validUntil.getTime() - Date.now() < EXPIRES_SOON_MS)
    log.warn({ valid_until: pair.validUntil }, "certificate expires soon");

  async function reload() {
    try {
      const next = await readCertificate(files);
      if (next.fingerprint === pair.fingerprint) return;
      if (isExpired(next) && !isExpired(pair))
        throw new Error(`The certificate in ${files.cert} has expired.`);
      onRenewed(next);
      pair = next;
      log.info({ fingerprint: next.fingerprint, valid_until: next.validUntil }, "certificate renewed");
    } catch (error) {
      failures++;
      log.error({ error }, "failed to reload certificate; keeping the previous one");
    }
  }

  let reloadTimer: NodeJS.Timeout | undefined;
  const scheduleReload = () => {
    clearTimeout(reloadTimer);
    reloadTimer = setTimeout(reload, SETTLE_MS);
  };
  for (const file of [files.cert, files.key])
    watchFile(file, { interval: POLL_MS, persistent: false }, scheduleReload);
  return {
    current: () => pair,
    failures: () => failures,
    reload,
    close() {
      clearTimeout(reloadTimer);
      for (const file of [files.cert, files.key]) unwatchFile(file, scheduleReload);
    },
  };
}

function isExpired({ validUntil }: CertificatePair): boolean {
  return validUntil.getTime() <= Date.now();
}
