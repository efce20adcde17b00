import type { Config } from "@outrider/server/config";
import { openDb, requireSupportedVersion } from "@outrider/server/store/connection/db";
import {
  DatabaseSettingsError,
  leadsToPooler,
  requireUsablePooler,
} from "@outrider/server/store/connection/pooler";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Checks the pooler at DATABASE_URL, if DATABASE_DIRECT_URL declares one. */
export async function poolerFindings(
  { databaseUrl, databaseDirectUrl }: Config,
  direct: ReturnType<typeof openDb>,
): Promise<Finding[]> {
  if (!databaseUrl || !databaseDirectUrl) return [];
  const pooled = openDb(databaseUrl, { connections: 1, applicationName: "outrider-doctor", isPooled: true });
  try {
    await requireSupportedVersion(pooled);
    const start = performance.now();
    if (!(await leadsToPooler(pooled)))
      return [
        warn(
          "pooler",
          "DATABASE_URL leads to PostgreSQL itself",
          "unset DATABASE_DIRECT_URL, so that statements are prepared, or set DATABASE_URL to the pooler",
        ),
      ];
    const ms = performance.now() - start;
    await requireUsablePooler({ pooled, direct });
    return [ok("pooler", `responds in ${ms.toFixed(1)} ms`)];
  } catch (error) {
    if (error instanceof DatabaseSettingsError) return [fail("pooler", error.problem, error.remedy)];
    const { message, code = "" } = error as Error & { code?: string };
    const remedy = "check that it is running and that DATABASE_URL is correct";
    return [fail("pooler", `unreachable: ${message || code}`, remedy)];
  } finally {
    await pooled.end({ timeout: 5 });
  }
}
