import type { Config } from "@outrider/server/config";
import { openDb, requireSupportedVersion } from "@outrider/server/store/db";
import { type Diagnosis, diagnose } from "@outrider/server/store/diagnosis";
import { findEmbedded } from "@outrider/server/store/embedded";
import { compareMigrations } from "@outrider/server/store/migrate";
import { type Finding, fail, inGigabytes, inTime, ok, warn } from "./finding.ts";
import { secretFindings } from "./master-key.ts";
import { workFindings } from "./work.ts";

type Db = ReturnType<typeof openDb>;

const SLOW_MS = 50;
/** As many as one server opens. */
const CONNECTIONS = 35;
const LAG_SECONDS = 30;
const CLOCK_SECONDS = 2;

/** The installation's database, and what it knows of the installation. */
export async function databaseFindings(config: Config): Promise<Finding[]> {
  const { databaseUrl, dataDir } = config;
  const target = databaseUrl ?? (await findEmbedded(dataDir));
  if (!target)
    return [
      warn(
        "database",
        `no server runs on ${dataDir}, and its database with it`,
        "start it with `outrider serve`",
      ),
    ];
  const db = openDb(target, { connections: 1, applicationName: "outrider-doctor" });
  try {
    await requireSupportedVersion(db);
    const began = performance.now();
    const sent = Date.now();
    const seen = await diagnose(db);
    const ms = performance.now() - began;
    const migrations = await migrationFinding(db);
    return [
      reach(seen, ms),
      room(seen),
      ...standby(seen),
      clock((sent + Date.now()) / 2_000 - seen.clock_seconds),
      migrations,
      ...(await secretFindings(db, config)),
      // What is not migrated cannot be asked for more.
      ...(migrations.state === "fail" ? [] : await workFindings(db)),
    ];
  } catch (error) {
    const { message, code = "" } = error as Error & { code?: string };
    return [
      fail(
        "database",
        `it cannot be asked: ${message || code}`,
        "see that it runs, and that DATABASE_URL is right",
      ),
    ];
  } finally {
    await db.end({ timeout: 5 });
  }
}

function reach({ version, is_standby, database_bytes }: Diagnosis, ms: number): Finding {
  const says = `PostgreSQL ${version}, ${inGigabytes(database_bytes)}, answers in ${ms.toFixed(1)} ms`;
  if (is_standby)
    return fail("database", `${says}; it is a standby`, "point DATABASE_URL to the primary, or promote it");
  return ms > SLOW_MS
    ? warn("database", says, "every call asks it several times: bring server and database closer together")
    : ok("database", says);
}

function room({ connections, connections_max }: Diagnosis): Finding {
  const left = connections_max - connections;
  const says = `${left} of ${connections_max} left`;
  return left < CONNECTIONS
    ? warn(
        "connections",
        says,
        `a server opens up to ${CONNECTIONS}: raise max_connections before you start another`,
      )
    : ok("connections", says);
}

function standby({ standbys, standby_lag_seconds: lag }: Diagnosis): Finding[] {
  if (standbys === 0) return [];
  const says = `${standbys}, behind by at most ${inTime(lag)}`;
  return [
    lag > LAG_SECONDS
      ? warn("standbys", says, "a fail-over now would lose what they lack: look at their disks and network")
      : ok("standbys", says),
  ];
}

function clock(offset: number): Finding {
  const says = `${Math.abs(offset).toFixed(2)} s from the database's`;
  return Math.abs(offset) > CLOCK_SECONDS
    ? warn("clock", says, "let both machines take their time from the same source")
    : ok("clock", says);
}

async function migrationFinding(db: Db): Promise<Finding> {
  const { missing, unknown } = await compareMigrations(db);
  if (missing.length > 0)
    return fail(
      "migrations",
      `${missing.length} not applied: ${missing.join(", ")}`,
      "start a server of this version",
    );
  return unknown.length > 0
    ? warn(
        "migrations",
        `the database has ${unknown.length} that this version does not know: ${unknown.join(", ")}`,
        "a newer version runs on it: bring this one up to date (docs/upgrades.md)",
      )
    : ok("migrations", "all applied");
}
