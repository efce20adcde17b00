import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, inject, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { socketPath } from "../../src/postgres/socket.ts";
import { type Db, openDb } from "../../src/store/connection/db.ts";
import { type Subscription, subscribe } from "../../src/store/connection/subscribe.ts";

/** A proxy to PostgreSQL for the listener only; messages are sent by another connection. */

const checkMs = 100;

let proxy: Server;
let db: Db;
let open: () => Db;
let listening: Subscription;
let channel: string;
const heard: string[] = [];
const ways = new Set<{ client: Socket; upstream: Socket }>();
/** Rejects like a standby: an error, and the connection stays open. */
let isRefusing = false;
let refusals = 0;
/** How often the subscription was restarted. */
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
      // An invalid keyword of the same length, so that the message stays well-formed.
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
  const onMessage = (payload: string) => void heard.push(payload);
  starts = 0;
  listening = await subscribe({ db, open, channel, onMessage, onLost: () => starts++, checkMs });
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
  }, waitOptions);
}

test("delivers messages, but not its own probes", async () => {
  await hears();
  expect(new Set(heard)).toEqual(new Set(["a word"]));
});

test("recovers when its connection is lost", async () => {
  for (const { client } of ways) client.resetAndDestroy();
  await hears();
});

test("recovers when its connection goes silent", async () => {
  for (const { client, upstream } of ways) {
    upstream.unpipe(client);
    upstream.pause();
  }
  await hears();
  expect(starts).toBeGreaterThan(0);
});

test("recovers after a failover during which LISTEN was rejected", async () => {
  isRefusing = true;
  for (const { client } of ways) client.resetAndDestroy();
  await vi.waitUntil(() => refusals > 0, waitOptions);
  isRefusing = false;
  await hears();
});

test("leaves no connection when closed", async () => {
  await listening.close();
  await vi.waitUntil(() => ways.size === 0, waitOptions);
});
