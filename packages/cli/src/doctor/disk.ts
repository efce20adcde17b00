import { realpath, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "@outrider/server/config";
import { type Finding, fail, formatGibibytes, ok, warn } from "./finding.ts";

const LOW_SPACE_SHARE = 0.1;

/** Checks the free space on the disks that the server writes to. Returns one finding per disk. */
export async function diskFindings(config: Config): Promise<Finding[]> {
  const { dataDir, blobs, databaseUrl, minFreeBytes } = config;
  const stored = blobs.type === "folder" ? [blobs.folder] : [];
  const folders = [dataDir, ...stored, ...(databaseUrl ? [] : [join(dataDir, "postgres")])];
  const findings = new Map<string, Finding>();
  for (const folder of folders) {
    const path = await realpath(folder).catch(() => undefined);
    const disk = path && (await statfs(path).catch(() => undefined));
    if (!disk) continue;
    const [free, total] = [disk.bavail * disk.bsize, disk.blocks * disk.bsize];
    const message = `${folder}: ${formatGibibytes(free)} of ${formatGibibytes(total)} free`;
    const remedy = "free up space, or shorten the retention (docs/operations.md)";
    const finding =
      free < minFreeBytes
        ? fail("disk", `${message}; new runs are rejected`, remedy)
        : free < 4 * minFreeBytes || free < LOW_SPACE_SHARE * total
          ? warn("disk", message, remedy)
          : ok("disk", message);
    const diskKey = `${total} ${disk.files}`;
    if (!findings.has(diskKey)) findings.set(diskKey, finding);
  }
  if (findings.size === 0)
    return [warn("disk", `${dataDir} does not exist`, "start the server once, or set OUTRIDER_DATA_DIR")];
  return [...findings.values()];
}
