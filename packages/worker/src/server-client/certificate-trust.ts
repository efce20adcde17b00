import { readFileSync } from "node:fs";
import { getCACertificates } from "node:tls";

/** Error codes that Node reports for a certificate that it does not trust. */
const untrustedCodes =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT_ALTNAME_INVALID)/;

/** Explains why the server's certificate is not trusted and how to fix it. Returns undefined for other errors. */
export function explainUntrusted(error: unknown): string | undefined {
  const { code = "", message } = error as NodeJS.ErrnoException;
  if (!untrustedCodes.test(code)) return undefined;
  return `${message} (${code}). Pass the certificate, or that of its authority, with --ca FILE, and use a host name that the certificate covers.`;
}

/** Returns TLS options that trust the certificate in the file in addition to the default authorities. */
export function trustOptions(file: string | undefined): { ca?: string[] } {
  if (!file) return {};
  let certificate: string;
  try {
    certificate = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`Cannot read --ca ${file}: ${(error as NodeJS.ErrnoException).code}.`);
  }
  if (!certificate.includes("-----BEGIN CERTIFICATE-----"))
    throw new Error(`--ca ${file} does not contain a PEM certificate.`);
  return { ca: [...getCACertificates("default"), certificate] };
}
