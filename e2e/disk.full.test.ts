import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openDb, type PostgresConnection } from "@outrider/server/store/db";
import { findEmbedded } from "@outrider/server/store/embedded";
import { afterAll, describe, expect, test, vi } from "vitest";
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
  afterAll(async () => {
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

  test("shortens its log while its disk is short, and a run whose lease passed while it was full is gone on with", async () => {
    const own = await begin({
      OUTRIDER_MIN_FREE_MB: "200",
      OUTRIDER_LEASE_SECONDS: "4",
      OUTRIDER_LEASE_GRACE_SECONDS: "1",
    });
    const db = openDb(own, { connections: 1 });
    const megabyte = "x".repeat(2 ** 20);
    const intake = async () =>
      /^outrider_intake_open (\d)$/m.exec((await world.call("GET", "/metrics")).text)?.[1];
    for (let written = 0; written < 200; written++)
      await db`select pg_logical_emit_message(false, 'x', ${megabyte})`;
    await vi.waitUntil(async () => (await intake()) === "0", patience);
    await vi.waitUntil(async () => (await intake()) === "1", patience);
    const [log] = await db`select sum(size)::int as bytes from pg_ls_waldir()`;
    expect(log?.bytes).toBeLessThan(120 * 2 ** 20);
    await db.end();

    const steps = 12;
    const run = await world.created(longScript(steps, { seconds: 0.5 }));
    const isAtWork = async () => (await world.events(run)).some(({ type }) => type === "command.finished");
    await vi.waitUntil(isAtWork, patience);
    disk.fill();
    await endByFullLog(own);
    // Longer than the lease and what is waited beyond it.
    await pause(12_000);
    disk.makeRoom();
    const { state, attempt } = await world.ended(run);
    expect([state, attempt]).toEqual(["SUCCEEDED", 2]);
    const events = await world.events(run);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });
});
