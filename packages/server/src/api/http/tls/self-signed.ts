import { execFile } from "node:child_process";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const DAY_MS = 86_400_000;
const VALID_DAYS = 365;
/** The certificate is replaced this long before it expires. */
const RENEW_BEFORE_MS = 30 * DAY_MS;

export interface CertificateFiles {
  cert: string;
  key: string;
}

/** Returns the self-signed certificate. Generates one if it is missing, expires soon or does not cover all names. */
export async function ensureSelfSigned(dataDir: string, names: string[]): Promise<CertificateFiles> {
  const folder = join(dataDir, "tls");
  const files = { cert: join(folder, "certificate.pem"), key: join(folder, "key.pem") };
  if (!(await isUsable(files.cert, names))) await generate(folder, files, names);
  return files;
}

/** Checks whether the certificate can be kept, because users may have accepted it or pinned its fingerprint. */
async function isUsable(file: string, names: string[]): Promise<boolean> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return false;
  try {
    const certificate = new X509Certificate(text);
    const isLongValid = certificate.validToDate.getTime() - Date.now() > RENEW_BEFORE_MS;
    return isLongValid && names.every((name) => coversName(certificate, name));
  } catch {
    return false;
  }
}

function coversName(certificate: X509Certificate, name: string): boolean {
  return (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined;
}

/** Generates the certificate with openssl, because Node cannot create certificates. */
async function generate(folder: string, files: CertificateFiles, names: string[]) {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = await mkdtemp(join(folder, "new-"));
  try {
    const [key, cert, config] = ["key", "certificate", "config"].map((name) => join(temporary, name)) as [
      string,
      string,
      string,
    ];
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await writeFile(key, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    await writeFile(config, opensslConfig([...new Set([...names, ...localNames()])]));
    await openssl(["req", "-x509", "-new", "-sha256", "-key", key, "-out", cert, "-config", config]);
    await chmod(cert, 0o644);
    await rename(key, files.key);
    await rename(cert, files.cert);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function openssl(args: string[]) {
  await promisify(execFile)("openssl", [...args, "-days", String(VALID_DAYS)]).catch((error) => {
    const why = error.code === "ENOENT" ? "openssl is not installed" : error.message.trim();
    throw new Error(
      `Cannot create a self-signed certificate: ${why}. Install openssl, or pass --tls-cert and --tls-key.`,
    );
  });
}

/** Requests a server certificate, not a CA certificate: browsers do not let users accept one that can sign others. */
function opensslConfig(names: string[]): string {
  const alternatives = names.map((name) => `${isIP(name) ? "IP" : "DNS"}:${name}`).join(",");
  return `[req]
distinguished_name = subject
x509_extensions = extensions
prompt = no
[subject]
CN = Outrider
[extensions]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
subjectAltName = ${alternatives}
`;
}

function localNames(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  const stable = addresses.filter(({ address }) => !address.startsWith("fe80:"));
  const name = hostname();
  const isName = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$/.test(name);
  return ["localhost", ...(isName ? [name] : []), ...stable.map(({ address }) => address)];
}
