import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openDb, type PostgresConnection } from "@outrider/server/store/db";
import { findEmbedded } from "@outrider/server/store/embedded";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../packages/server/test/server.ts";
import { endByFullLog, survivesFullDisk } from "./full-disk.ts";
import { Installation, longScript } from "./installation.ts";
import { patience } from "./process.ts";
import { type SmallDisk, smallDisk } from "./small-disk.ts";
import { type Database, startDatabase } from "./torture/database.ts";

/** Full disks, in rounds that take longer. */

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

describe("a full disk under a database of the operator's", () => {
  let disk: SmallDisk;
  let database: Database;
  let world: Installation;
  afterAll(async () => {
    await world?.stop();
    await database?.stop();
    disk?.remove();
  });

  survivesFullDisk(async () => {
    disk = smallDisk(400);
    database = await startDatabase(join(disk.folder, "database"));
    const { user, password, host, port, database: name } = database.connection;
    const url = `postgres://${user}:${encodeURIComponent(password)}@/${name}?host=${host}&port=${port}`;
    world = await Installation.start({ environment: { DATABASE_URL: url } });
    return { world, disk, breakDown: () => endByFullLog(database.connection) };
  });
});

describe("the own database", () => {
  let disk: SmallDisk;
  let world: Installation;
  afterEach(async () => {
    await world?.stop();
    disk?.remove();
  });

  async function begin(environment: Record<string, string>) {
    disk = smallDisk(400);
    const dataDir = join(disk.folder, "data");
    mkdirSync(dataDir, { mode: 0o711 });
    world = await Installation.start({ dataDir, environment });
    return (await findEmbedded(dataDir)) as PostgresConnection;
  }

  test("does not let its log grow while its disk is short", async () => {
    const own = await begin({ OUTRIDER_MIN_FREE_MB: "300" });
    const db = openDb(own, { connections: 1 });
    const write = async (megabytes: number) => {
      const one = "x".repeat(2 ** 20);
      for (let left = megabytes; left > 0; left--)
        await db`select pg_logical_emit_message(false, 'x', ${one})`;
    };
    const sizeOfLog = async () => (await db`select sum(size)::int as bytes from pg_ls_waldir()`)[0]?.bytes;
    const isUsedAgain = async () => {
      const [row] = await db`select redo_lsn >= ${written}::pg_lsn as "isIt" from pg_control_checkpoint()`;
      return row?.isIt as boolean;
    };
    let written = "0/0";
    await write(200);
    const before = await sizeOfLog();
    for (let round = 0; round < 3; round++) {
      [{ written }] = await db<[{ written: string }]>`select pg_current_wal_lsn() as written`;
      await vi.waitUntil(isUsedAgain, patience);
      await write(50);
    }
    expect(await sizeOfLog()).toBeLessThan(before + 2 ** 26);
    await db.end();
  });

  test("is gone on with after it was full for longer than a lease, and so are runs", async () => {
    const own = await begin({
      OUTRIDER_MIN_FREE_MB: "32",
      OUTRIDER_LEASE_SECONDS: "4",
      OUTRIDER_LEASE_GRACE_SECONDS: "1",
    });
    const steps = 12;
    const run = await world.created(longScript(steps, { seconds: 0.5 }));
    const isAtWork = async () => (await world.events(run)).some(({ type }) => type === "command.finished");
    await vi.waitUntil(isAtWork, patience);
    disk.fill();
    await endByFullLog(own);
    // Longer than the lease and what is waited beyond it.
    await pause(12_000);
    disk.makeRoom();
    const { state, attempts } = await world.ended(run);
    expect([state, attempts]).toEqual(["SUCCEEDED", 2]);
    const events = await world.events(run);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });
});

describe("a worker whose disk stays full", () => {
  let disk: SmallDisk;
  let world: Installation;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  afterAll(async () => {
    await world?.stop();
    disk?.remove();
    await database?.drop();
  });

  test("fails the turn whose files it cannot store, says why, and takes runs again when there is room", async () => {
    disk = smallDisk(128);
    database = await testDatabase();
    const environment = { DATABASE_URL: database.url, OUTRIDER_MIN_FREE_MB: "32" };
    world = await Installation.start({ workerDir: join(disk.folder, "worker"), environment });
    const run = await world.created([
      "RUN: head -c 1000000 /dev/urandom > made; echo made; sleep 2",
      "SAY: done",
    ]);
    const isAtWork = async () => (await world.events(run)).some(({ type }) => type === "command.output");
    await vi.waitUntil(isAtWork, patience);
    disk.fill();
    const { state, status_message } = await world.ended(run, 150_000);
    expect([state, status_message.error_code]).toEqual(["FAILED", "resource_unavailable"]);
    expect(status_message.message).toMatch(/^The worker's disk is full: /);
    disk.makeRoom();
    expect(await world.ended(await world.created(["SAY: next"]))).toMatchObject({ state: "SUCCEEDED" });
  });
});
