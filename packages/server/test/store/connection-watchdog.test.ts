import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { socketPath } from "../../src/postgres/socket.ts";
import {
  type ConnectionWatchdog,
  startConnectionWatchdog,
} from "../../src/store/connection/connection-watchdog.ts";
import { type Db, isUnreachable, openDb, requireSupportedVersion } from "../../src/store/connection/db.ts";
import { TrackedSockets } from "../../src/store/connection/tracked-sockets.ts";
import { certificateFolder } from "../http/tls-support.ts";

/** The connections pass through a proxy to PostgreSQL that can drop all traffic silently. */

/** Ten silent checks take two seconds, so that a short pause of the machine does not count as an outage. */
const everyMs = 200;

const certificate = certificateFolder();
const ways = new Set<{ client: Duplex; upstream: Socket }>();
let isDark = false;
let relay: Server;
let sockets: TrackedSockets;
let db: Db;
let line: Db;
let watchdog: ConnectionWatchdog;

/** Answers the SSLRequest like PostgreSQL. */
async function inTls(client: Socket): Promise<Duplex> {
  await once(client, "data");
  client.write("S");
  return new TLSSocket(client, {
    isServer: true,
    cert: readFileSync(certificate.cert),
    key: readFileSync(certificate.key),
  });
}

async function lead(socket: Socket, speaksTls: boolean) {
  socket.on("error", () => {});
  if (isDark) return void socket.pause();
  const client = speaksTls ? await inTls(socket) : socket;
  const upstream = dial(socketPath(inject("postgres").host));
  const way = { client, upstream };
  ways.add(way);
  for (const one of [client, upstream]) one.on("error", () => {});
  client.pipe(upstream).pipe(client);
  client.on("close", () => {
    ways.delete(way);
    upstream.destroy();
  });
}

/** Connected sockets stay silent, even when new connections work again. */
function goDark() {
  isDark = true;
  for (const { client, upstream } of ways) {
    upstream.unpipe(client);
    client.unpipe(upstream);
    upstream.pause();
    client.pause();
  }
}

beforeAll(() => certificate.renew());
afterAll(() => certificate.remove());

let drops: number;

describe.each([
  { speaksTls: false, name: "in the clear" },
  { speaksTls: true, name: "over TLS" },
])("a database that is reached $name", ({ speaksTls }) => {
  beforeEach(async () => {
    isDark = false;
    relay = createServer((socket) => void lead(socket, speaksTls)).listen(0, "127.0.0.1");
    await once(relay, "listening");
    const { user, password, database } = inject("postgres");
    const { port } = relay.address() as { port: number };
    const url = `postgres://${user}:${encodeURIComponent(password)}@localhost:${port}/${database}${speaksTls ? "?sslmode=require" : ""}`;
    sockets = new TrackedSockets();
    db = openDb(url, { connections: 3, sockets });
    line = openDb(url, { connections: 1, sockets });
    for (const pool of [db, line]) await requireSupportedVersion(pool);
    drops = 0;
    const onDropped = () => drops++;
    watchdog = startConnectionWatchdog({
      db: line,
      sockets,
      onDropped,
      log: pino({ level: "silent" }),
      everyMs,
    });
  });
  afterEach(async () => {
    await watchdog.stop();
    for (const pool of [db, line]) await pool.end({ timeout: 0 });
    for (const { client, upstream } of ways) {
      client.destroy();
      upstream.destroy();
    }
    ways.clear();
    relay.close();
  });

  test("is used again by every connection after a blackout", async () => {
    await Promise.all([db`select pg_sleep(0.1)`, db`select pg_sleep(0.1)`, db`select pg_sleep(0.1)`]);
    const begun = Promise.withResolvers<void>();
    const inTransaction = db.begin(async (tx) => {
      await tx`select 1`;
      begun.resolve();
      await tx`select pg_sleep(60)`;
    });
    const alone = db`select pg_sleep(60)`;
    const ends = Promise.allSettled([inTransaction, alone]);
    await begun.promise;
    const received = sockets.received;
    await vi.waitUntil(() => sockets.received > received, waitOptions);
    goDark();
    for (const end of await ends) {
      expect(end.status).toBe("rejected");
      expect(isUnreachable((end as PromiseRejectedResult).reason)).toBe(true);
    }
    expect(drops).toBeGreaterThan(0);
    isDark = false;
    // The watchdog may drop a connection that is being opened while its own is still waiting for the lost proxy.
    const useAll = () => Promise.all(Array.from({ length: 10 }, () => db`select 1`));
    await vi.waitUntil(() => useAll().then(Boolean, () => false), waitOptions);
  });

  test("may take any time for a statement while it is alive", async () => {
    const looks = 15;
    const [row] = await db`select 'done' as word, pg_sleep(${(looks * everyMs) / 1_000})`;
    expect(row?.word).toBe("done");
    expect(drops).toBe(0);
  });
});
