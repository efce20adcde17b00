import { execFile } from "node:child_process";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const DAY_MS = 86_400_000;
const VALID_DAYS = 365;
/** So long before it ends, it is made anew. */
const RENEW_MS = 30 * DAY_MS;

export interface Files {
  cert: string;
  key: string;
}

/** A certificate for a quick start, in the data folder: the one from before while it is good, else a new one. */
export async function selfSigned(dataDir: string, names: string[]): Promise<Files> {
  const folder = join(dataDir, "tls");
  const files = { cert: join(folder, "certificate.pem"), key: join(folder, "key.pem") };
  if (!(await isGood(files.cert, names))) await make(folder, files, names);
  return files;
}

/** Others must have been shown it: where it need not change, it does not. */
async function isGood(file: string, names: string[]): Promise<boolean> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return false;
  try {
    const certificate = new X509Certificate(text);
    const isLasting = certificate.validToDate.getTime() - Date.now() > RENEW_MS;
    return isLasting && names.every((name) => isFor(certificate, name));
  } catch {
    return false;
  }
}

function isFor(certificate: X509Certificate, name: string): boolean {
  return (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined;
}

/** Node signs and has no writer of certificates; openssl has, and is where TLS is. */
async function make(folder: string, files: Files, names: string[]) {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const work = await mkdtemp(join(folder, "new-"));
  try {
    const [key, cert, config] = ["key", "certificate", "config"].map((name) => join(work, name)) as [
      string,
      string,
      string,
    ];
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await writeFile(key, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    await writeFile(config, settingsFor([...new Set([...names, ...namesOfThisMachine()])]));
    await openssl(["req", "-x509", "-new", "-sha256", "-key", key, "-out", cert, "-config", config]);
    await chmod(cert, 0o644);
    await rename(key, files.key);
    await rename(cert, files.cert);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function openssl(args: string[]) {
  await promisify(execFile)("openssl", [...args, "-days", String(VALID_DAYS)]).catch((error) => {
    const why = error.code === "ENOENT" ? "there is no openssl on this machine" : error.message.trim();
    throw new Error(
      `A self-signed certificate cannot be made: ${why}. Install openssl, or give --tls-cert and --tls-key.`,
    );
  });
}

/** No authority: browsers let people accept a certificate of a server, not one that could vouch for others. */
function settingsFor(names: string[]): string {
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

function namesOfThisMachine(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const lasting = addresses.filter(({ address }) => !address.startsWith("fe80:"));
  const name = hostname();
  const isName = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$/.test(name);
  return ["localhost", ...(isName ? [name] : []), ...lasting.map(({ address }) => address)];
}
