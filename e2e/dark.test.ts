import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isUnreachable, openDb } from "@outrider/server/store/db";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { DatabaseHost } from "./database-host.ts";
import { expectWhole, Installation, longScript } from "./installation.ts";
import { call, keyOf, makeDataDir, patience, removeDataDir, type Serving, serve } from "./process.ts";
import { type Database, startDatabase } from "./torture/database.ts";

/** The database's host loses power under two servers and a worker: no connection is closed, packets just vanish. */

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const STEPS = 24;

let folder: string;
let database: Database;
let host: DatabaseHost;
let world: Installation;
let other: Serving;

beforeAll(async () => {
  folder = makeDataDir();
  database = await startDatabase(join(folder, "database"));
  host = await DatabaseHost.start(database.socket);
  const { user, password, database: name } = database.connection;
  const environment = {
    DATABASE_URL: `postgres://${user}:${encodeURIComponent(password)}@${host.address}/${name}`,
    OUTRIDER_MASTER_KEY: randomBytes(32).toString("base64"),
    OUTRIDER_WORKERS: "0",
    // So that a slow machine does not make another test of it: whose lease passes is tried again.
    OUTRIDER_LEASE_SECONDS: "90",
  };
  world = await Installation.start({ dataDir: join(folder, "servers"), environment });
  other = await serve({ dataDir: join(folder, "servers"), environment });
});

afterAll(async () => {
  await other?.end("SIGTERM");
  await world?.stop();
  host?.remove();
  await database?.stop();
  removeDataDir(folder);
});

/** Reads a run's stream to its end, and comes back behind the last that it has seen wherever it breaks off. */
async function follow(origin: string, key: string, run: string): Promise<number[]> {
  const seen: number[] = [];
  for (; ; await pause(100)) {
    try {
      const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
      const response = await fetch(`${origin}/api/v1/agent/runs/${run}/events`, {
        headers: { ...headers, ...(seen.length > 0 ? { "last-event-id": String(seen.at(-1)) } : {}) },
      });
      if (response.status === 204) return seen;
      let rest = "";
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const frames = (rest + piece).split("\n\n");
        rest = frames.pop() ?? "";
        for (const frame of frames) {
          const id = /^id: (\d+)$/m.exec(frame)?.[1];
          if (id) seen.push(Number(id));
        }
      }
    } catch {
      // Broken off.
    }
  }
}

test("who waits for an answer that will never come is told, when another host has taken the address at once", async () => {
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
    const isAsked = async () => (await sessionsAsleep()) === 1;
    await vi.waitUntil(isAsked, patience);
    host.losePower();
    await host.takeOver();
    const began = performance.now();
    expect(await waiting).toBe(true);
    expect(performance.now() - began).toBeLessThan(30_000);
  } finally {
    await db.end({ timeout: 0 });
  }
});

async function sessionsAsleep(): Promise<number> {
  const db = openDb(database.connection, { connections: 1 });
  const [row] = await db`select count(*)::int as count from pg_stat_activity where wait_event = 'PgSleep'`;
  await db.end();
  return row?.count;
}

test("servers notice a dark database in time, put callers off, and go on when its address answers again", async () => {
  const key = keyOf(world.server.dataDir);
  const run = await world.created(longScript(STEPS, { seconds: 0.5 }));
  const following = follow(other.origin, key, run);
  const isAtWork = async () => (await world.events(run)).some(({ type }) => type === "command.finished");
  await vi.waitUntil(isAtWork, patience);

  host.losePower();
  const began = performance.now();
  const since = () => performance.now() - began;
  const origins = [world.server.origin, other.origin];
  const list = (origin: string) => call("GET", `${origin}/api/v1/agent/runs`, { key });
  const create = (origin: string) =>
    call("POST", `${origin}/api/v1/agent/run`, { key, body: { prompt: "SAY: after the dark" } });
  for (const origin of origins) {
    const { body } = await vi.waitUntil(async () => {
      const reply = await list(origin);
      return reply.status === 503 ? reply : undefined;
    }, patience);
    expect(body).toMatchObject({ error_code: "resource_unavailable", retryable: true });
    expect(since()).toBeLessThan(15_000);
  }
  const writes = Promise.all(origins.map(create));
  for (const server of [world.server, other]) await server.says("its connections are dropped");
  expect(since()).toBeLessThan(30_000);
  for (const reply of await writes) expect(reply.status).toBe(503);

  await host.takeOver();
  const again = performance.now();
  for (const origin of origins) {
    await vi.waitUntil(async () => (await list(origin)).status === 200, patience);
    await vi.waitUntil(async () => (await create(origin)).status === 200, patience);
  }
  expect(performance.now() - again).toBeLessThan(20_000);
  expect(await world.ended(run, 90_000)).toMatchObject({ state: "SUCCEEDED" });
  await expectWhole(world, run, STEPS);
  const seen = await following;
  expect(seen).toEqual(seen.map((_, index) => index + 1));
});
