import { readPair } from "@outrider/server/api/tls/certificate";
import { readConfig } from "@outrider/server/config";

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

interface Finding {
  name: string;
  says: string;
  state: "ok" | "limited" | "missing";
}

/** Looks at the certificate that `serve` would use here, by the same settings. Nothing to say where it would use none. */
export async function certificateFinding(): Promise<Finding[]> {
  const name = "tls";
  try {
    const { tls, dataDir } = readConfig();
    if (!tls) return [];
    const folder = `${dataDir}/tls`;
    const files =
      tls === "self-signed" ? { cert: `${folder}/certificate.pem`, key: `${folder}/key.pem` } : tls;
    const { until, fingerprint } = await readPair(files);
    const days = Math.floor((until.getTime() - Date.now()) / DAY_MS);
    const says = `${files.cert}, until ${until.toISOString().slice(0, 10)}, SHA-256 ${fingerprint}`;
    if (days < 0) return [{ name, says: `${says}: it has run out, renew it`, state: "missing" }];
    if (days < SOON_DAYS) return [{ name, says: `${says}: ${days} days left`, state: "limited" }];
    return [{ name, says, state: "ok" }];
  } catch (error) {
    return [{ name, says: (error as Error).message, state: "missing" }];
  }
}
