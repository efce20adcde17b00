import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { type Db, isUnreachable, openDb, requireSupportedVersion } from "../src/store/db.ts";
import { socketPath } from "../src/store/embedded/socket.ts";
import { keepLifeline, type Lifeline } from "../src/store/lifeline.ts";
import { Lines } from "../src/store/lines.ts";
import { certificateFolder } from "./tls-support.ts";

/** A way to PostgreSQL that can go dark: nothing passes, and nobody is told. Looks are taken in quick succession. */

const patience = { timeout: 15_000, interval: 20 };
const everyMs = 50;

const certificate = certificateFolder();
const ways = new Set<{ client: Duplex; upstream: Socket }>();
let isDark = false;
let relay: Server;
let lines: Lines;
let db: Db;
let line: Db;
let lifeline: Lifeline;

/** As PostgreSQL does: it is asked in plain words whether it speaks TLS, and says yes. */
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

/** For good: what was connected stays silent, also when the address answers again. */
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
    lines = new Lines();
    db = openDb(url, { connections: 3, lines });
    line = openDb(url, { connections: 1, lines });
    for (const pool of [db, line]) await requireSupportedVersion(pool);
    drops = 0;
    const dropped = () => drops++;
    lifeline = keepLifeline({ db: line, lines, dropped, log: pino({ level: "silent" }), everyMs });
  });
  afterEach(async () => {
    await lifeline.stop();
    for (const pool of [db, line]) await pool.end({ timeout: 0 });
    for (const { client, upstream } of ways) {
      client.destroy();
      upstream.destroy();
    }
    ways.clear();
    relay.close();
  });

  test("is asked again by everybody once it has gone dark and come back", async () => {
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
    const received = lines.received;
    await vi.waitUntil(() => lines.received > received, patience);
    goDark();
    for (const end of await ends) {
      expect(end.status).toBe("rejected");
      expect(isUnreachable((end as PromiseRejectedResult).reason)).toBe(true);
    }
    expect(drops).toBeGreaterThan(0);
    isDark = false;
    const began = performance.now();
    await vi.waitUntil(() => db`select 1`.then(Boolean, () => false), patience);
    expect(performance.now() - began).toBeLessThan(8_000);
    await Promise.all(Array.from({ length: 10 }, () => db`select 1`));
  });

  test("may take as long as it likes for a statement while it lives", async () => {
    const looks = 40;
    const [row] = await db`select 'done' as word, pg_sleep(${(looks * everyMs) / 1_000})`;
    expect(row?.word).toBe("done");
    expect(drops).toBe(0);
  });
});
