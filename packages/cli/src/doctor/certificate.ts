import { readCertificate } from "@outrider/server/api/http/tls/certificate";
import type { Config } from "@outrider/server/config";
import { type Finding, fail, ok, warn } from "./finding.ts";

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

/** Checks the certificate that `serve` would use. Returns no findings if TLS is off. */
export async function certificateFindings({ tls, dataDir }: Config): Promise<Finding[]> {
  const name = "tls";
  if (!tls) return [];
  const folder = `${dataDir}/tls`;
  const files = tls === "self-signed" ? { cert: `${folder}/certificate.pem`, key: `${folder}/key.pem` } : tls;
  try {
    const { validUntil, fingerprint } = await readCertificate(files);
    const days = Math.floor((validUntil.getTime() - Date.now()) / DAY_MS);
    const message = `${files.cert}, valid until ${validUntil.toISOString().slice(0, 10)}, SHA-256 ${fingerprint}`;
    if (days < 0) return [fail(name, `${message}: expired`, "renew it; the server reloads it automatically")];
    if (days < SOON_DAYS) return [warn(name, `${message}: ${days} days left`, "renew it")];
    return [ok(name, message)];
  } catch (error) {
    return [fail(name, "the certificate is not usable", (error as Error).message)];
  }
}
