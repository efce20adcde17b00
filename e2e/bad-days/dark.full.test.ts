import { join } from "node:path";
import { isUnreachable, openDb } from "@outrider/server/store/db";
import { describe, expect, test, vi } from "vitest";
import { makeDataDir, patience, removeDataDir } from "../process.ts";
import { type Database, startDatabase } from "../torture/database.ts";
import { noticesTheDark } from "./dark.ts";
import { DatabaseHost } from "./database-host.ts";

/**
 * The whole service before a database that goes dark, on a network of its own, where packets vanish and the kernel decides
 * what a connection is. `make test` has packages/server/test/lifeline.test.ts.
 */

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

describe("a database whose host loses power", noticesTheDark);

test("who waits for an answer that will never come is told, when another host has taken the address at once", async () => {
  const folder = makeDataDir();
  const database = await startDatabase(join(folder, "database"));
  const host = await DatabaseHost.start(database.socket);
  const { user, password, database: name } = database.connection;
  const db = openDb(`postgres://${user}:${encodeURIComponent(password)}@${host.address}/${name}`, {
    connections: 1,
  });
  try {
    await db`select 1`;
    const waiting = db`select pg_sleep(100)`.then(
      () => "an answer",
      (error) => isUnreachable(error),
    );
    const isAsked = async () => (await sessionsAsleep(database)) === 1;
    await vi.waitUntil(isAsked, patience);
    host.losePower();
    await host.takeOver();
    const began = performance.now();
    expect(await waiting).toBe(true);
    expect(performance.now() - began).toBeLessThan(30_000);
  } finally {
    await db.end({ timeout: 0 });
    host.remove();
    await database.stop();
    removeDataDir(folder);
  }
});

async function sessionsAsleep(database: Database): Promise<number> {
  const db = openDb(database.connection, { connections: 1 });
  const [row] = await db`select count(*)::int as count from pg_stat_activity where wait_event = 'PgSleep'`;
  await db.end();
  return row?.count;
}
