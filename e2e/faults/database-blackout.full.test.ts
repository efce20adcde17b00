import { join } from "node:path";
import { isUnreachable, openDb } from "@outrider/server/store/connection/db";
import { describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { type Database, startDatabase } from "../chaos/database.ts";
import { makeDataDir, removeDataDir } from "../process.ts";
import { testDatabaseBlackout } from "./database-blackout.ts";
import { DatabaseHost } from "./database-host.ts";

/**
 * Runs the whole service against a database whose host loses power. The host has its own network namespace, so packets are
 * really dropped. `make test` runs packages/server/test/store/connection-watchdog.test.ts instead.
 */

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

describe("a database host that loses power", testDatabaseBlackout);

test("fails a pending query when another host takes over the address", async () => {
  const folder = makeDataDir();
  const database = await startDatabase(join(folder, "database"));
  const host = await DatabaseHost.start(database.socket);
  const { user, password, database: name } = database.connection;
  const db = openDb(`postgres://${user}:${encodeURIComponent(password)}@${host.address}/${name}`, {
    connections: 1,
  });
  try {
    await db`select 1`;
    const pending = db`select pg_sleep(100)`.then(
      () => "an answer",
      (error) => isUnreachable(error),
    );
    const isQueryRunning = async () => (await countSleepingSessions(database)) === 1;
    await vi.waitUntil(isQueryRunning, waitOptions);
    host.losePower();
    await host.replaceHost();
    expect(await pending).toBe(true);
  } finally {
    await db.end({ timeout: 0 });
    host.remove();
    await database.stop();
    removeDataDir(folder);
  }
});

async function countSleepingSessions(database: Database): Promise<number> {
  const db = openDb(database.connection, { connections: 1 });
  const [row] = await db`select count(*)::int as count from pg_stat_activity where wait_event = 'PgSleep'`;
  await db.end();
  return row?.count;
}
