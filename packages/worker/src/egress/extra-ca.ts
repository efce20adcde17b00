/**
 * Certificates that the operator trusts in addition to the public authorities, for example those of a proxy that inspects
 * TLS. The worker trusts them in all its connections, git trusts them, and every sandbox receives them.
 */
import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getCACertificates, rootCertificates, setDefaultCACertificates } from "node:tls";

const maxBytes = 10 * 2 ** 20;
const pemBlock = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----/g;
/** Where distributions keep the bundle of the authorities that the machine trusts. */
const systemBundles = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** Reads the PEM bundle that OUTRIDER_EXTRA_CA names. The errors name the setting and the remedy. */
export function readExtraCertificates(file: string): string[] {
  const invalid = (problem: string) =>
    new Error(`OUTRIDER_EXTRA_CA: ${file} ${problem}. It must be a PEM file with CA certificates.`);
  let text: string;
  try {
    text = readFileSync(file, "latin1");
  } catch (error) {
    throw invalid(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  if (text.length > maxBytes) throw invalid("is larger than 10 MiB");
  const certificates = text.match(pemBlock) ?? [];
  if (certificates.length === 0) throw invalid("contains no PEM certificate");
  certificates.forEach((certificate, index) => {
    try {
      new X509Certificate(certificate);
    } catch {
      throw invalid(`contains a damaged certificate (number ${index + 1})`);
    }
  });
  return certificates;
}

/** Makes all TLS connections of this process trust the certificates. */
export function trustCertificates(certificates: string[]): void {
  setDefaultCACertificates([...new Set([...getCACertificates("default"), ...certificates])]);
}

/** What git and sandboxes need in order to trust the certificates. */
export interface SandboxCertificates {
  /** Host file: the machine's authorities and the extra certificates. */
  bundleFile: string;
  /** The same and the extra certificates alone, by their path in a sandbox. An image's own trust store is not changed. */
  files: Record<string, string>;
  /** Tells programs in a sandbox where the files are. */
  environment: Record<string, string>;
  /** Where the distributions of images look for authorities to add, when they update their trust store. */
  imageFiles: Record<string, string>;
}

const extra = "/etc/outrider/extra-ca.pem";
const bundle = "/etc/outrider/ca-bundle.pem";
/** For `update-ca-certificates` of Debian and Alpine, and `update-ca-trust` of Fedora. */
const imageAnchors = [
  "/usr/local/share/ca-certificates/outrider-extra-ca.crt",
  "/etc/pki/ca-trust/source/anchors/outrider-extra-ca.pem",
];

/** Combines the certificates with those of this machine, and stores the result in a folder of the worker for git. */
export function combineCertificates(folder: string, certificates: string[]): SandboxCertificates {
  mkdirSync(folder, { recursive: true });
  const bundleFile = join(folder, "ca-bundle.pem");
  const all = joinPem([readSystemBundle(), ...certificates]);
  // Replaces the file atomically, because git may be reading it.
  writeFileSync(`${bundleFile}.${process.pid}`, all, { encoding: "latin1", mode: 0o644 });
  renameSync(`${bundleFile}.${process.pid}`, bundleFile);
  return {
    bundleFile,
    files: { [extra]: joinPem(certificates), [bundle]: all },
    imageFiles: Object.fromEntries(imageAnchors.map((path) => [path, joinPem(certificates)])),
    environment: {
      // Node adds these to its own authorities. Parsing the whole bundle would slow every start.
      NODE_EXTRA_CA_CERTS: extra,
      SSL_CERT_FILE: bundle,
      REQUESTS_CA_BUNDLE: bundle,
      CURL_CA_BUNDLE: bundle,
      GIT_SSL_CAINFO: bundle,
      PIP_CERT: bundle,
      CARGO_HTTP_CAINFO: bundle,
      AWS_CA_BUNDLE: bundle,
      DENO_CERT: extra,
    },
  };
}

function readSystemBundle(): string {
  const file = systemBundles.find((path) => existsSync(path));
  return file ? readFileSync(file, "latin1").trim() : joinPem([...rootCertificates]);
}

function joinPem(certificates: string[]): string {
  return `${certificates.map((certificate) => certificate.trim()).join("\n")}\n`;
}
