import { realpath, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "@outrider/server/config";
import { type Finding, fail, inGigabytes, ok, warn } from "./finding.ts";

const SHORT_SHARE = 0.1;

/** Room where the server writes. Folders on one disk are told once. */
export async function diskFindings({ dataDir, databaseUrl, minFreeBytes }: Config): Promise<Finding[]> {
  const folders = [dataDir, join(dataDir, "blobs"), ...(databaseUrl ? [] : [join(dataDir, "postgres")])];
  const findings = new Map<string, Finding>();
  for (const folder of folders) {
    const place = await realpath(folder).catch(() => undefined);
    const disk = place && (await statfs(place).catch(() => undefined));
    if (!disk) continue;
    const [free, whole] = [disk.bavail * disk.bsize, disk.blocks * disk.bsize];
    const says = `${folder}: ${inGigabytes(free)} of ${inGigabytes(whole)} free`;
    const remedy = "make room, or set a shorter retention (docs/operations.md)";
    const found =
      free < minFreeBytes
        ? fail("disk", `${says}, no new runs are taken`, remedy)
        : free < 4 * minFreeBytes || free < SHORT_SHARE * whole
          ? warn("disk", says, remedy)
          : ok("disk", says);
    const same = `${whole} ${disk.files}`;
    if (!findings.has(same)) findings.set(same, found);
  }
  if (findings.size === 0)
    return [warn("disk", `${dataDir} does not exist`, "start the server once, or set OUTRIDER_DATA_DIR")];
  return [...findings.values()];
}
