import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { call, keyOf, makeDataDir, patience, removeDataDir, type Serving, serve } from "../process.ts";
import { type Database, startDatabase } from "../torture/database.ts";
import { DatabaseHost } from "./database-host.ts";
import { expectWhole, Installation, longScript } from "./installation.ts";

/** What holds when the database's host loses power under two servers and a worker: no connection is closed, words just vanish. */

const STEPS = 24;

export function noticesTheDark() {
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
}

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
