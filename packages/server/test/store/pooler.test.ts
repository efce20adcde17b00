import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { startServer } from "../../src/main.ts";
import { startConnectionWatchdog } from "../../src/store/connection/connection-watchdog.ts";
import { type Db, openDb } from "../../src/store/connection/db.ts";
import { leadsToPooler } from "../../src/store/connection/pooler.ts";
import { TrackedSockets } from "../../src/store/connection/tracked-sockets.ts";
import { testDatabase } from "../server.ts";
import { addRoleSettings, databaseName, type PgBouncer, startPgBouncer } from "./pgbouncer.ts";

/** Connections through a real PgBouncer in transaction mode with a single connection to each database. */

/** PgBouncer rejects the settings of direct connections, unless it is configured to ignore them. */
const ignored =
  "lock_timeout,idle_in_transaction_session_timeout,pg_trgm.strict_word_similarity_threshold,tcp_keepalives_idle,tcp_keepalives_interval,tcp_keepalives_count";

let strict: PgBouncer;
let lenient: PgBouncer;
let database: Awaited<ReturnType<typeof testDatabase>>;
let dataDir: string;
let name: string;

beforeAll(async () => {
  [strict, lenient, database] = await Promise.all([
    startPgBouncer({ poolSize: 1 }),
    startPgBouncer({ poolSize: 1, settings: [`ignore_startup_parameters = ${ignored}`] }),
    testDatabase(),
  ]);
  name = databaseName(database.url);
  dataDir = await mkdtemp(join(tmpdir(), "outrider-test-"));
});
afterAll(async () => {
  await strict?.close();
  await lenient?.close();
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

async function withDb<T>(db: Db, work: (db: Db) => Promise<T>): Promise<T> {
  try {
    return await work(db);
  } finally {
    await db.end();
  }
}

async function start(environment: Record<string, string>) {
  const server = await startServer(
    readConfig(
      {},
      { OUTRIDER_DATA_DIR: dataDir, OUTRIDER_PORT: "0", OUTRIDER_LOG_LEVEL: "silent", ...environment },
    ),
  );
  await server.stop();
}

describe("a server", () => {
  test.each([
    ["rejects unknown settings", () => strict],
    ["ignores unknown settings", () => lenient],
  ])("does not start behind a pooler that %s, and names the setting to add", async (_, pooler) => {
    await expect(start({ DATABASE_URL: pooler().url(name) })).rejects.toThrow(
      /^DATABASE_URL leads to a connection pooler.* set DATABASE_DIRECT_URL to the address of PostgreSQL itself/,
    );
  });

  test("does not start if the direct address leads to a pooler, too", async () => {
    const environment = { DATABASE_URL: strict.url(name), DATABASE_DIRECT_URL: lenient.url(name) };
    await expect(start(environment)).rejects.toThrow(/^DATABASE_DIRECT_URL leads to a connection pooler/);
  });

  test("does not start if the two addresses lead to different databases", async () => {
    const other = await testDatabase();
    try {
      const environment = {
        DATABASE_URL: strict.url(databaseName(other.url)),
        DATABASE_DIRECT_URL: database.url,
      };
      await expect(start(environment)).rejects.toThrow(/lead to different databases/);
    } finally {
      await other.drop();
    }
  });

  test("names the settings that the role of pooled connections lacks, and starts with them", async () => {
    const environment = { DATABASE_URL: strict.url(name), DATABASE_DIRECT_URL: database.url };
    const error = await start(environment).catch((caught: Error) => caught);
    const { message } = error as Error;
    expect(message).toMatch(/lack settings of their role.*\(RECONNECT/);
    const statements = message.slice(message.indexOf("alter role"), -1).split("; ");
    expect(statements).toHaveLength(3);
    await withDb(openDb(database.url, { connections: 1 }), async (db) => {
      for (const statement of statements) await db.unsafe(statement);
      // Like RECONNECT in the console of PgBouncer.
      await db`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = ${name} and pid <> pg_backend_pid()`;
    });
    await start(environment);
  });
});

describe("a pooled connection", () => {
  test("prepares no statements, which other clients of the pooler could not execute", async () => {
    const options = { connections: 1, isPooled: true };
    const [first, second] = [openDb(strict.url(name), options), openDb(strict.url(name), options)];
    try {
      const pids = new Set<number>();
      for (let round = 0; round < 3; round++)
        for (const db of [first, second]) {
          const [row] = await db`select pg_backend_pid() as pid, ${round}::int as round`;
          expect(row?.round).toBe(round);
          pids.add(row?.pid);
        }
      expect(pids.size).toBe(1);
      expect(await first`select name from pg_prepared_statements`).toEqual([]);
      expect(await leadsToPooler(first)).toBe(true);
    } finally {
      await Promise.all([first.end(), second.end()]);
    }
  });

  test("sends a statement only after the previous one is complete, because PgBouncer would lose its result", async () => {
    await withDb(openDb(strict.url(name), { connections: 2, isPooled: true }), async (db) => {
      const numbers = Array.from({ length: 100 }, (_, index) => index);
      const read = (number: number) =>
        number % 2 ? db`select ${number}::int as number` : db`select 0 as number`;
      for (let round = 0; round < 3; round++) {
        const results = await Promise.all(numbers.map(read));
        expect(results.map(([row]) => row?.number)).toEqual(numbers.map((number) => (number % 2) * number));
      }
      const inOne = await db.begin((tx) =>
        Promise.all(numbers.map((number) => tx`select ${number}::int as number`)),
      );
      expect(inOne.map(([row]) => row?.number)).toEqual(numbers);
    });
  });

  test("has the role's settings, as a direct connection has its own", async () => {
    await withDb(openDb(database.url, { connections: 1 }), addRoleSettings);
    const read = (db: Db) =>
      db`select current_setting('lock_timeout') as lock, current_setting('TimeZone') as zone,
        current_setting('idle_in_transaction_session_timeout') as idle`;
    const direct = await withDb(openDb(database.url, { connections: 1 }), read);
    expect([...direct]).toEqual([{ lock: "5s", zone: "UTC", idle: "10s" }]);
    expect([...(await withDb(openDb(strict.url(name), { connections: 1, isPooled: true }), read))]).toEqual([
      ...direct,
    ]);
  });
});

test("the watchdog keeps the connections while its ping waits for the pooler's only connection", async () => {
  const everyMs = 100;
  const sockets = new TrackedSockets();
  const options = { connections: 1, isPooled: true, sockets };
  const [db, pings] = [openDb(strict.url(name), options), openDb(strict.url(name), options)];
  let drops = 0;
  const onDropped = () => drops++;
  const log = pino({ level: "silent" });
  await db`select 1`;
  const watchdog = startConnectionWatchdog({ db: pings, sockets, isPooled: true, onDropped, log, everyMs });
  try {
    const [row] = await db`select 'done' as word, pg_sleep(${(20 * everyMs) / 1_000})`;
    expect(row?.word).toBe("done");
    expect(drops).toBe(0);
  } finally {
    await watchdog.stop();
    await Promise.all([db.end(), pings.end()]);
  }
});

test("a direct connection prepares its statements", async () => {
  await withDb(openDb(database.url, { connections: 1 }), async (db) => {
    expect(await leadsToPooler(db)).toBe(false);
    await db`select ${1}::int`;
    expect((await db`select 1 from pg_prepared_statements`).length).toBeGreaterThan(0);
  });
});
