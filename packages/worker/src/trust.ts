import { readFileSync } from "node:fs";
import { getCACertificates } from "node:tls";

/** What Node says of a certificate that it does not take. */
const isDistrust =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT_ALTNAME_INVALID)/;

/** Why the server's certificate is not taken, and the remedy; undefined where something else is wrong. */
export function distrustOf(error: unknown): string | undefined {
  const { code = "", message } = error as NodeJS.ErrnoException;
  if (!isDistrust.test(code)) return undefined;
  return `${message} (${code}). Give the certificate, or that of its authority, with --ca FILE, and use a name that it is for.`;
}

/** Whom to believe besides the authorities that everybody believes. */
export function authoritiesWith(file: string | undefined): { ca?: string[] } {
  if (!file) return {};
  let own: string;
  try {
    own = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`--ca ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
  if (!own.includes("-----BEGIN CERTIFICATE-----"))
    throw new Error(`--ca ${file} holds no certificate in PEM.`);
  return { ca: [...getCACertificates("default"), own] };
}
