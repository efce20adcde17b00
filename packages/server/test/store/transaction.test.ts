import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { setImmediate as breathe } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { socketPath } from "../../src/postgres/socket.ts";
import { type Db, isUnreachable, openDb, requireSupportedVersion } from "../../src/store/connection/db.ts";
import { transactionsOf } from "../../src/store/connection/transaction.ts";
import { testDatabase, testServer } from "../server.ts";

/** A proxy to PostgreSQL that closes connections in the middle of a transaction. */

const endings = {
  "is closed": (socket: Socket) => socket.end(),
  "is reset": (socket: Socket) => socket.resetAndDestroy(),
};

let proxy: Server;
let throughProxy: (database: string) => string;
let db: Db;
const sockets = new Set<Socket>();
/** A connection that sends this text is closed at once. */
let isCutAt: string | undefined;
const uncaught: unknown[] = [];
const note = (error: unknown) => void uncaught.push(error);

beforeEach(async () => {
  const { user, password, database, host } = inject("postgres");
  proxy = createServer((client) => {
    const upstream = dial(socketPath(host));
    sockets.add(client);
    client.on("data", (data) => {
      if (isCutAt && data.includes(isCutAt)) client.resetAndDestroy();
    });
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.pipe(upstream).pipe(client);
    client.on("close", () => upstream.destroy());
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as { port: number };
  throughProxy = (name) => `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${name}`;
  db = openDb(throughProxy(database), { connections: 1 });
  uncaught.length = 0;
  isCutAt = undefined;
  // Each of these would crash a process without a listener.
  process.prependListener("uncaughtException", note);
  process.prependListener("unhandledRejection", note);
});

afterEach(async () => {
  process.off("uncaughtException", note);
  process.off("unhandledRejection", note);
  await db.end({ timeout: 0 });
  for (const socket of sockets) socket.destroy();
  proxy.close();
});

describe.each(Object.entries(endings))("a connection that %s", (name, end) => {
  const cut = () => {
    for (const socket of sockets) end(socket);
    sockets.clear();
  };
  const usable = async () => {
    const read = () => db`select 1 as one`.catch(() => undefined);
    expect(await vi.waitUntil(read, waitOptions)).toMatchObject([{ one: 1 }]);
  };

  test("during a statement fails only that transaction", async () => {
    const lost = db
      .begin(async (tx) => {
        await tx`select 1`;
        await tx.unsafe(`select pg_sleep(10) -- ${name}`);
      })
      .catch((error: unknown) => error);
    await vi.waitUntil(() => sockets.size > 0, waitOptions);
    await vi.waitFor(async () => expect(await sleepers(name)).toBe(1), waitOptions);
    cut();
    expect(await lost).toSatisfy(isUnreachable);
    await usable();
    expect(uncaught).toEqual([]);
  });

  test("between statements keeps the remaining statements out of other transactions", async () => {
    const [holding, awake] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const lost = db
      .begin(async (tx) => {
        await tx`select 1`;
        holding.resolve();
        await awake.promise;
        await tx`select 'left over'`;
      })
      .catch((error: unknown) => error);
    await holding.promise;
    cut();
    expect(await lost).toSatisfy(isUnreachable);
    const other = db.begin(async (tx) => {
      await tx`select set_config('outrider.test', 'other', true)`;
      awake.resolve();
      await breathe();
      await tx`select 2`;
      return tx`select current_setting('outrider.test') as mine`;
    });
    expect(await other).toMatchObject([{ mine: "other" }]);
    expect(transactionsOf(db)).toEqual({ open: 0, waiting: 0 });
    await usable();
    expect(uncaught).toEqual([]);
  });
});

test("a statement that the database cancels counts as an outage, and not as a defect", async () => {
  const canceled = db.unsafe("select pg_sleep(600) -- canceled").catch((error: unknown) => error);
  await vi.waitFor(async () => expect(await sleepers("canceled")).toBe(1), waitOptions);
  const administrator = openDb(inject("postgres"), { connections: 1 });
  onTestFinished(() => administrator.end());
  await administrator`
    select pg_cancel_backend(pid) from pg_stat_activity where query like '%-- canceled' and pid <> pg_backend_pid()`;
  expect(await canceled).toSatisfy(isUnreachable);
});

test("counts transactions that are open and that wait for a connection", async () => {
  const [holding, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = db.begin(async (tx) => {
    await tx`select 1`;
    holding.resolve();
    await release.promise;
  });
  await holding.promise;
  const second = db.begin((tx) => tx`select no_such_column`).catch(() => "failed");
  expect(transactionsOf(db)).toEqual({ open: 1, waiting: 1 });
  release.resolve();
  await first;
  expect(await second).toBe("failed");
  expect(transactionsOf(db)).toEqual({ open: 0, waiting: 0 });
});

test("a new connection does not fetch types, whose failure would be unhandled", async () => {
  await requireSupportedVersion(db);
  isCutAt = "pg_catalog.pg_type";
  for (const socket of sockets) socket.destroy();
  await vi.waitUntil(() => db`select ${["a"]}::text[] as list`.catch(() => undefined), waitOptions);
  expect(await db`select ${["a", "b"]}::text[] as list`).toMatchObject([{ list: ["a", "b"] }]);
  expect(uncaught).toEqual([]);
});

test("no connection of a whole server fetches types", async () => {
  const database = await testDatabase();
  const name = new URL(database.url.replace("@/", "@localhost/")).pathname.slice(1);
  const server = await testServer({ DATABASE_URL: throughProxy(name) });
  try {
    const { body } = await server.call("POST", "/keys", { body: { name: "workers", type: "worker" } });
    isCutAt = "pg_catalog.pg_type";
    for (const socket of sockets) socket.destroy();
    const worker = { worker_id: randomUUID(), name: "worker", version: "0", slots: 1 };
    const create = () => server.call("POST", "/agent/run", { body: { prompt: "SAY: x" } });
    const claim = () =>
      server.call("POST", "/worker/claim", {
        key: body.key,
        body: { request_id: randomUUID(), worker, free: 1, wait_ms: 0 },
      });
    for (const call of [create, claim]) {
      await vi.waitUntil(async () => (await call()).status === 200, waitOptions);
    }
    expect(uncaught).toEqual([]);
  } finally {
    isCutAt = undefined;
    await server.stop();
    await database.drop();
  }
});

/** Uses another connection, because this one is busy. */
async function sleepers(name: string): Promise<number> {
  const admin = openDb(inject("postgres"), { connections: 1 });
  try {
    const [row] = await admin<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity where query like ${`select pg_sleep%${name}`} and state = 'active'`;
    return row?.count ?? 0;
  } finally {
    await admin.end();
  }
}
