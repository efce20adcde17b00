import { statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "@outrider/server/config";
import { findAccountName, nobodyAccount } from "@outrider/server/postgres/account";
import { findEmbedded } from "@outrider/server/postgres/embedded-postgres";
import { openDb, requireSupportedVersion } from "@outrider/server/store/connection/db";
import { type Diagnosis, diagnose } from "@outrider/server/store/connection/diagnosis";
import { DatabaseSettingsError, requireNoPooler } from "@outrider/server/store/connection/pooler";
import { compareMigrations } from "@outrider/server/store/migrate";
import { findStoredModels, type StoredModels } from "@outrider/server/store/model-providers";
import { directUrlOf } from "../with-installation.ts";
import { type Finding, fail, formatDuration, formatGibibytes, ok, warn } from "./finding.ts";
import { forgeFindings } from "./forges.ts";
import { secretFindings } from "./master-key.ts";
import { poolerFindings } from "./pooler.ts";
import { workFindings } from "./queue.ts";

type Db = ReturnType<typeof openDb>;

const SLOW_MS = 50;
const LAG_SECONDS = 30;
const CLOCK_SECONDS = 2;

export interface DatabaseCheck {
  findings: Finding[];
  /** Absent if the database cannot be read, or has another schema. */
  storedModels?: StoredModels;
}

/** Checks the installation's database and the state that it contains. */
export async function checkInstallation(config: Config): Promise<DatabaseCheck> {
  const { databaseUrl, databaseDirectUrl, dataDir } = config;
  const target = directUrlOf(config) ?? (await findEmbedded(dataDir));
  if (!target) {
    const message = `the embedded database in ${dataDir} is not running`;
    return { findings: [warn("database", message, "start it with `outrider serve`")] };
  }
  const db = openDb(target, { connections: 1, applicationName: "outrider-doctor" });
  try {
    await (databaseDirectUrl ? requireSupportedVersion(db) : requireNoPooler(db, requireSupportedVersion));
    const start = performance.now();
    const sent = Date.now();
    const diagnosis = await diagnose(db);
    const ms = performance.now() - start;
    const migrations = await checkMigrations(db);
    // Some checks require the current schema.
    const isCurrent = migrations.state !== "fail";
    const findings = [
      checkDatabase(diagnosis, ms),
      ...(await poolerFindings(config, db)),
      ...(databaseUrl ? [] : [checkAccount(dataDir)]),
      checkConnections(diagnosis, databaseDirectUrl ? 1 : config.databaseConnections),
      ...checkStandbys(diagnosis),
      checkClock((sent + Date.now()) / 2_000 - diagnosis.clock_seconds),
      migrations,
      ...(await secretFindings(db, config)),
      ...(isCurrent ? [...(await workFindings(db)), ...(await forgeFindings(db, config))] : []),
    ];
    return { findings, ...(isCurrent ? { storedModels: await findStoredModels(db) } : {}) };
  } catch (error) {
    if (error instanceof DatabaseSettingsError)
      return { findings: [fail("database", error.problem, error.remedy)] };
    const { message, code = "" } = error as Error & { code?: string };
    const remedy = `check that it is running and that ${databaseDirectUrl ? "DATABASE_DIRECT_URL" : "DATABASE_URL"} is correct`;
    return { findings: [fail("database", `unreachable: ${message || code}`, remedy)] };
  } finally {
    await db.end({ timeout: 5 });
  }
}

function checkDatabase({ version, is_standby, database_bytes }: Diagnosis, ms: number): Finding {
  const message = `PostgreSQL ${version}, ${formatGibibytes(database_bytes)}, responds in ${ms.toFixed(1)} ms`;
  if (is_standby)
    return fail(
      "database",
      `${message}; it is a standby`,
      "set DATABASE_URL to the primary, or promote this server",
    );
  return ms > SLOW_MS
    ? warn(
        "database",
        message,
        "every request makes several queries: reduce the latency between server and database",
      )
    : ok("database", message);
}

/** PostgreSQL runs only as the owner of its files, so the owner is the account that it runs under. */
function checkAccount(dataDir: string): Finding {
  const { uid } = statSync(join(dataDir, "postgres"));
  const name = findAccountName(uid);
  const message = `PostgreSQL runs as ${name ? `${name} (uid ${uid})` : `uid ${uid}`}`;
  return uid === nobodyAccount().uid
    ? warn("account", `${message}, like other services`, "restart the server, which gives it its own account")
    : ok("account", message);
}

function checkConnections({ connections, connections_max }: Diagnosis, perServer: number): Finding {
  const left = connections_max - connections;
  const message = `${left} of ${connections_max} available`;
  return left < perServer
    ? warn(
        "connections",
        message,
        `a server opens up to ${perServer}: raise max_connections before you start another server`,
      )
    : ok("connections", message);
}

function checkStandbys({ standbys, standby_lag_seconds: lag }: Diagnosis): Finding[] {
  if (standbys === 0) return [];
  const message = `${standbys}, maximum lag ${formatDuration(lag)}`;
  return [
    lag > LAG_SECONDS
      ? warn("standbys", message, "a failover now would lose data: check their disks and network")
      : ok("standbys", message),
  ];
}

function checkClock(offset: number): Finding {
  const message = `${Math.abs(offset).toFixed(2)} s difference from the database`;
  return Math.abs(offset) > CLOCK_SECONDS
    ? warn("clock", message, "synchronize both machines with the same time source")
    : ok("clock", message);
}

async function checkMigrations(db: Db): Promise<Finding> {
  const { missing, unknown } = await compareMigrations(db);
  if (missing.length > 0)
    return fail(
      "migrations",
      `${missing.length} not applied: ${missing.join(", ")}`,
      "start a server of this version, which applies them",
    );
  return unknown.length > 0
    ? warn(
        "migrations",
        `the database has ${unknown.length} unknown to this version: ${unknown.join(", ")}`,
        "a newer version uses this database: upgrade this machine (docs/upgrades.md)",
      )
    : ok("migrations", "all applied");
}
