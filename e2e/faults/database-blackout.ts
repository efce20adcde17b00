import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { type Database, startDatabase } from "../chaos/database.ts";
import { call, keyOf, makeDataDir, removeDataDir, type Serving, serve } from "../process.ts";
import { DatabaseHost } from "./database-host.ts";
import { expectCompleteRun, Installation, longScript } from "./installation.ts";

/**
 * Tests two servers and a worker whose database host loses power. The host closes no connection; packets to it are dropped.
 */

const STEPS = 24;

export function testDatabaseBlackout() {
  let folder: string;
  let database: Database;
  let host: DatabaseHost;
  let installation: Installation;
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
      // A long lease, because on a slow machine a shorter one could expire, and the run would be retried.
      OUTRIDER_LEASE_SECONDS: "90",
    };
    installation = await Installation.start({ dataDir: join(folder, "servers"), environment });
    other = await serve({ dataDir: join(folder, "servers"), environment });
  });

  afterAll(async () => {
    await other?.end("SIGTERM");
    await installation?.stop();
    host?.remove();
    await database?.stop();
    removeDataDir(folder);
  });

  test("servers detect the blackout in time, answer 503, and recover when the address answers again", async () => {
    const key = keyOf(installation.server.dataDir);
    const run = await installation.createRun(longScript(STEPS, { seconds: 0.5 }));
    const following = follow(other.origin, key, run);
    const isRunning = async () =>
      (await installation.events(run)).some(({ type }) => type === "command.finished");
    await vi.waitUntil(isRunning, waitOptions);

    host.losePower();
    const start = performance.now();
    const elapsed = () => performance.now() - start;
    const origins = [installation.server.origin, other.origin];
    const list = (origin: string) => call("GET", `${origin}/api/v1/agent/runs`, { key });
    const create = (origin: string) =>
      call("POST", `${origin}/api/v1/agent/run`, { key, body: { prompt: "SAY: after the blackout" } });
    for (const origin of origins) {
      const { body } = await vi.waitUntil(async () => {
        const reply = await list(origin);
        return reply.status === 503 ? reply : undefined;
      }, waitOptions);
      expect(body).toMatchObject({ error_code: "resource_unavailable", retryable: true });
      expect(elapsed()).toBeLessThan(15_000);
    }
    const writes = Promise.all(origins.map(create));
    for (const server of [installation.server, other]) await server.waitForOutput("dropped its connections");
    expect(elapsed()).toBeLessThan(30_000);
    for (const reply of await writes) expect(reply.status).toBe(503);

    await host.replaceHost();
    const restoredAt = performance.now();
    for (const origin of origins) {
      await vi.waitUntil(async () => (await list(origin)).status === 200, waitOptions);
      await vi.waitUntil(async () => (await create(origin)).status === 200, waitOptions);
    }
    expect(performance.now() - restoredAt).toBeLessThan(20_000);
    expect(await installation.waitForEnd(run, 90_000)).toMatchObject({ state: "SUCCEEDED" });
    await expectCompleteRun(installation, run, STEPS);
    const received = await following;
    expect(received).toEqual(received.map((_, index) => index + 1));
  });
}

/** Reads a run's stream to its end. Reconnects after the last received event whenever the connection breaks. */
async function follow(origin: string, key: string, run: string): Promise<number[]> {
  const received: number[] = [];
  for (; ; await pause(100)) {
    try {
      const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
      const response = await fetch(`${origin}/api/v1/agent/runs/${run}/events`, {
        headers: { ...headers, ...(received.length > 0 ? { "last-event-id": String(received.at(-1)) } : {}) },
      });
      if (response.status === 204) return received;
      let rest = "";
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const frames = (rest + piece).split("\n\n");
        rest = frames.pop() ?? "";
        for (const frame of frames) {
          const id = /^id: (\d+)$/m.exec(frame)?.[1];
          if (id) received.push(Number(id));
        }
      }
    } catch {
      // The connection broke.
    }
  }
}
