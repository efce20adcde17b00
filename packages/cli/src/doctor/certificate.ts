import { readPair } from "@outrider/server/api/tls/certificate";
import type { Config } from "@outrider/server/config";
import { type Finding, fail, ok, warn } from "./finding.ts";

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

/** Looks at the certificate that `serve` would use here, by the same settings. Nothing to say where it would use none. */
export async function certificateFindings({ tls, dataDir }: Config): Promise<Finding[]> {
  const name = "tls";
  if (!tls) return [];
  const folder = `${dataDir}/tls`;
  const files = tls === "self-signed" ? { cert: `${folder}/certificate.pem`, key: `${folder}/key.pem` } : tls;
  try {
    const { until, fingerprint } = await readPair(files);
    const days = Math.floor((until.getTime() - Date.now()) / DAY_MS);
    const says = `${files.cert}, until ${until.toISOString().slice(0, 10)}, SHA-256 ${fingerprint}`;
    if (days < 0)
      return [fail(name, `${says}: it has run out`, "renew it; the server takes the new one by itself")];
    if (days < SOON_DAYS) return [warn(name, `${says}: ${days} days left`, "renew it")];
    return [ok(name, says)];
  } catch (error) {
    return [fail(name, "the certificate cannot be used", (error as Error).message)];
  }
}
