import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { findEmbedded } from "@outrider/server/postgres/embedded-postgres";
import { openDb, type PostgresConnection } from "@outrider/server/store/connection/db";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../../packages/server/test/server.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { type Database, startDatabase } from "../chaos/database.ts";
import { crashByFullWal, testFullDisk } from "./full-disk.ts";
import { Installation, longScript } from "./installation.ts";
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts";

/** Tests with full disks that take longer. */

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

describe("a full disk under an external database", () => {
  let disk: SmallDisk;
  let database: Database;
  let installation: Installation;
  afterAll(async () => {
    await installation?.stop();
    await database?.stop();
    disk?.remove();
  });

  testFullDisk(async () => {
    disk = mountSmallDisk(400);
    database = await startDatabase(join(disk.folder, "database"));
    const { user, password, host, port, database: name } = database.connection;
    const url = `postgres://${user}:${encodeURIComponent(password)}@/${name}?host=${host}&port=${port}`;
    installation = await Installation.start({ environment: { DATABASE_URL: url } });
    return { installation, disk, crashDatabase: () => crashByFullWal(database.connection) };
  });
});

describe("the embedded database", () => {
  let disk: SmallDisk;
  let installation: Installation;
  afterEach(async () => {
    await installation?.stop();
    disk?.remove();
  });

  async function startOnSmallDisk(environment: Record<string, string>) {
    disk = mountSmallDisk(400);
    const dataDir = join(disk.folder, "data");
    mkdirSync(dataDir, { mode: 0o711 });
    installation = await Installation.start({ dataDir, environment });
    return (await findEmbedded(dataDir)) as PostgresConnection;
  }

  test("limits its WAL while disk space is low", async () => {
    const connection = await startOnSmallDisk({ OUTRIDER_MIN_FREE_MB: "300" });
    const db = openDb(connection, { connections: 1 });
    const write = async (megabytes: number) => {
      const megabyte = "x".repeat(2 ** 20);
      for (let left = megabytes; left > 0; left--)
        await db`select pg_logical_emit_message(false, 'x', ${megabyte})`;
    };
    const walSize = async () => (await db`select sum(size)::int as bytes from pg_ls_waldir()`)[0]?.bytes;
    const isCheckpointed = async () => {
      const [row] =
        await db`select redo_lsn >= ${written}::pg_lsn as "isCheckpointed" from pg_control_checkpoint()`;
      return row?.isCheckpointed as boolean;
    };
    let written = "0/0";
    await write(200);
    const before = await walSize();
    for (let round = 0; round < 3; round++) {
      [{ written }] = await db<[{ written: string }]>`select pg_current_wal_lsn() as written`;
      await vi.waitUntil(isCheckpointed, waitOptions);
      await write(50);
    }
    expect(await walSize()).toBeLessThan(before + 2 ** 26);
    await db.end();
  });

  test("recovers after a full disk that outlasts a lease, and its runs resume", async () => {
    const connection = await startOnSmallDisk({
      OUTRIDER_MIN_FREE_MB: "32",
      OUTRIDER_LEASE_SECONDS: "4",
      OUTRIDER_LEASE_GRACE_SECONDS: "1",
    });
    const steps = 12;
    const run = await installation.createRun(longScript(steps, { seconds: 0.5 }));
    const isRunning = async () =>
      (await installation.events(run)).some(({ type }) => type === "command.finished");
    await vi.waitUntil(isRunning, waitOptions);
    disk.fill();
    await crashByFullWal(connection);
    // Longer than the lease and its grace period.
    await pause(12_000);
    disk.freeSpace();
    const { state, attempts } = await installation.waitForEnd(run);
    expect([state, attempts]).toEqual(["SUCCEEDED", 2]);
    const events = await installation.events(run);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });
});

describe("a worker whose disk stays full", () => {
  let disk: SmallDisk;
  let installation: Installation;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  afterAll(async () => {
    await installation?.stop();
    disk?.remove();
    await database?.drop();
  });

  test("fails a turn whose files it cannot store, reports why, and accepts runs again once there is space", async () => {
    disk = mountSmallDisk(128);
    database = await testDatabase();
    const environment = { DATABASE_URL: database.url, OUTRIDER_MIN_FREE_MB: "32" };
    installation = await Installation.start({ workerDir: join(disk.folder, "worker"), environment });
    const run = await installation.createRun([
      "RUN: head -c 1000000 /dev/urandom > made; echo made; sleep 2",
      "SAY: done",
    ]);
    const isRunning = async () =>
      (await installation.events(run)).some(({ type }) => type === "command.output");
    await vi.waitUntil(isRunning, waitOptions);
    disk.fill();
    const { state, status_message } = await installation.waitForEnd(run, 150_000);
    expect([state, status_message.error_code]).toEqual(["FAILED", "resource_unavailable"]);
    expect(status_message.message).toMatch(/^The worker's disk is full: /);
    disk.freeSpace();
    expect(await installation.waitForEnd(await installation.createRun(["SAY: next"]))).toMatchObject({
      state: "SUCCEEDED",
    });
  });
});
