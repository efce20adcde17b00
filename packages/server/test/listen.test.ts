import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, inject, test, vi } from "vitest";
import { type Db, openDb } from "../src/store/db.ts";
import { socketPath } from "../src/store/embedded/socket.ts";
import { keepListening, type Listening } from "../src/store/listen.ts";

/** A way to PostgreSQL for the ear alone; words are said by another. */

const patience = { timeout: 15_000, interval: 50 };
const checkMs = 100;

let proxy: Server;
let db: Db;
let open: () => Db;
let listening: Listening;
let channel: string;
const heard: string[] = [];
const ways = new Set<{ client: Socket; upstream: Socket }>();
/** As a standby refuses: an error, and the connection stays. */
let isRefusing = false;
let refusals = 0;
/** How often it has started anew. */
let starts = 0;

beforeEach(async () => {
  const { user, password, database, host } = inject("postgres");
  isRefusing = false;
  refusals = 0;
  heard.length = 0;
  channel = `test_${randomUUID()}`;
  proxy = createServer((client) => {
    const upstream = dial(socketPath(host));
    const way = { client, upstream };
    ways.add(way);
    client.on("data", (data) => {
      const text = data.toString("latin1");
      const isMeant = isRefusing && text.includes("listen ");
      if (isMeant) refusals++;
      // Of the same length, so that the message stays whole; there is no such word.
      upstream.write(isMeant ? Buffer.from(text.replace("listen", "lisTxn"), "latin1") : data);
    });
    upstream.pipe(client);
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.on("close", () => {
      ways.delete(way);
      upstream.destroy();
    });
    upstream.on("close", () => client.destroy());
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as { port: number };
  const url = `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  db = openDb(inject("postgres"), { connections: 1 });
  open = () => openDb(url, { connections: 1 });
  const hear = (payload: string) => void heard.push(payload);
  starts = 0;
  listening = await keepListening({ db, open, channel, hear, deaf: () => starts++, checkMs });
});

afterEach(async () => {
  await listening.close();
  await db.end({ timeout: 0 });
  for (const { client } of ways) client.destroy();
  proxy.close();
});

async function hears() {
  heard.length = 0;
  await vi.waitUntil(async () => {
    await db.notify(channel, "a word");
    return heard.includes("a word");
  }, patience);
}

test("what is said is heard, and the calls to oneself are not", async () => {
  await hears();
  expect(new Set(heard)).toEqual(new Set(["a word"]));
});

test("a listener whose connection is lost hears again", async () => {
  for (const { client } of ways) client.resetAndDestroy();
  await hears();
});

test("a listener whose connection goes silent hears again", async () => {
  for (const { client, upstream } of ways) {
    upstream.unpipe(client);
    upstream.pause();
  }
  await hears();
  expect(starts).toBeGreaterThan(0);
});

test("a listener that was refused while a standby took over hears again", async () => {
  isRefusing = true;
  for (const { client } of ways) client.resetAndDestroy();
  await vi.waitUntil(() => refusals > 0, patience);
  isRefusing = false;
  await hears();
});

test("a closed listener leaves no connection", async () => {
  await listening.close();
  await vi.waitUntil(() => ways.size === 0, patience);
});
