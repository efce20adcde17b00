import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openDb } from "@outrider/server/store/db";
import { findEmbedded } from "@outrider/server/store/embedded";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../packages/server/test/server.ts";
import { expectWhole, Installation, longScript } from "./installation.ts";
import {
  call,
  freePort,
  makeDataDir,
  patience,
  type Reply,
  type Running,
  removeDataDir,
  root,
  watch,
} from "./process.ts";
import { type SmallDisk, smallDisk } from "./small-disk.ts";
import { type Database, startDatabase } from "./torture/database.ts";

/** Disks that are full to the last byte, under real processes. Each part follows one installation, in this order. */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const STEPS = 30;

/** Done, or put off with a reason. */
function expectDoneOrPutOff({ status, body, text }: Reply) {
  if (status === 503)
    expect(body, text).toMatchObject({ error_code: "resource_unavailable", retryable: true });
  else expect(status, text).toBeLessThan(300);
}

/** What holds of a database whose disk is full, whoever runs it. */
function survives(
  begin: () => Promise<{ world: Installation; disk: SmallDisk; breakDown(): Promise<void> }>,
) {
  let world: Installation;
  let disk: SmallDisk;
  let breakDown: () => Promise<void>;
  let atWork: string;
  let waiting: string;
  let ended: string;

  beforeAll(async () => {
    ({ world, disk, breakDown } = await begin());
    ended = await world.created(["SAY: done"]);
    await world.ended(ended);
    atWork = await world.created(longScript(STEPS));
    waiting = await world.created(["ASK: anything?"]);
    const isAtWork = async () => (await world.events(atWork)).some(({ type }) => type === "command.finished");
    await vi.waitUntil(isAtWork, patience);
    disk.fill();
  });

  test("new runs are refused, the log and the metrics say so, and what a run at work reports is put off", async () => {
    const refused = await vi.waitUntil(async () => {
      const reply = await world.create(["SAY: too much"]);
      return reply.status === 200 ? undefined : reply;
    }, patience);
    expect([refused.status, refused.body.error_code]).toEqual([503, "resource_unavailable"]);
    await world.server.says("a disk is short of space: no new runs are taken");
    await vi.waitUntil(async () => (await world.putOff("report")) > 0, patience);
    expect((await world.call("GET", "/metrics")).text).toMatch(/^outrider_intake_open 0$/m);
  });

  test("reading, cancelling and deleting go on, or are put off with a reason", async () => {
    expectDoneOrPutOff(await world.call("GET", "/agent/runs"));
    expectDoneOrPutOff(await world.call("GET", `/agent/runs/${ended}/events`));
    expectDoneOrPutOff(await world.call("POST", `/agent/runs/${waiting}/cancel`));
    expectDoneOrPutOff(await world.call("DELETE", `/agent/runs/${ended}`));
  });

  test("a PostgreSQL that cannot write its log any more ends, and everybody is put off", async () => {
    await breakDown();
    const putOff = await vi.waitUntil(async () => {
      const reply = await world.call("GET", "/agent/runs");
      return reply.status === 503 ? reply : undefined;
    }, patience);
    expectDoneOrPutOff(putOff);
    expect((await world.call("GET", "/agent/runs")).body.error_code).toBe("resource_unavailable");
  });

  test("once there is room, all goes on by itself, and nothing is lost or doubled", async () => {
    disk.makeRoom();
    const isTaken = async () => (await world.create(["SAY: welcome"])).status === 200;
    await vi.waitUntil(isTaken, patience);
    expect(await world.ended(atWork)).toMatchObject({ state: "SUCCEEDED" });
    await expectWhole(world, atWork, STEPS);
    await world.server.says("there is room again: new runs are taken");
    expectDoneOrPutOff(await world.call("POST", `/agent/runs/${waiting}/cancel`));
  });
}

/** Its log goes on in a new file, for which there is no room. */
async function endByFullLog(target: Parameters<typeof openDb>[0]) {
  const db = openDb(target, { connections: 1 });
  for (let isUp = true; isUp; ) {
    isUp = await db`select pg_switch_wal(), pg_logical_emit_message(false, 'filling', 'the log', true)`.then(
      () => true,
      () => false,
    );
  }
  await db.end({ timeout: 0 });
}

describe("a full disk under the own database", () => {
  let disk: SmallDisk;
  let world: Installation;
  afterAll(async () => {
    await world?.stop();
    disk?.remove();
  });

  survives(async () => {
    disk = smallDisk(400);
    const dataDir = join(disk.folder, "data");
    mkdirSync(dataDir, { mode: 0o711 });
    world = await Installation.start({ dataDir, environment: { OUTRIDER_MIN_FREE_MB: "32" } });
    const breakDown = async () => {
      const own = await findEmbedded(dataDir);
      if (own) await endByFullLog(own);
    };
    return { world, disk, breakDown };
  });
});

describe("a full disk under a database of the operator's", () => {
  let disk: SmallDisk;
  let database: Database;
  let world: Installation;
  afterAll(async () => {
    await world?.stop();
    await database?.stop();
    disk?.remove();
  });

  survives(async () => {
    disk = smallDisk(400);
    database = await startDatabase(join(disk.folder, "database"));
    const { user, password, host, port, database: name } = database.connection;
    const url = `postgres://${user}:${encodeURIComponent(password)}@/${name}?host=${host}&port=${port}`;
    world = await Installation.start({ environment: { DATABASE_URL: url } });
    return { world, disk, breakDown: () => endByFullLog(database.connection) };
  });
});

describe("a full disk under stored files", () => {
  let disk: SmallDisk;
  let world: Installation;
  let dataDir: string;
  let database: Awaited<ReturnType<typeof testDatabase>>;

  beforeAll(async () => {
    dataDir = makeDataDir();
    const blobs = join(dataDir, "blobs");
    mkdirSync(blobs, { mode: 0o700 });
    disk = smallDisk(64, blobs);
    database = await testDatabase();
    world = await Installation.start({
      dataDir,
      environment: { DATABASE_URL: database.url, OUTRIDER_MIN_FREE_MB: "32" },
    });
  });
  afterAll(async () => {
    await world?.stop();
    disk?.remove();
    await database?.drop();
    removeDataDir(dataDir);
  });

  test("a run waits with its artifact until there is room, and keeps it whole", async () => {
    const run = await world.created([
      "RUN: head -c 5000000 /dev/urandom > kept; sha256sum kept; until [ -e go ]; do sleep 0.1; test $((n++)) -lt 40 || break; done",
      'CALL: keep_artifact {"path": "kept"}',
      "SAY: kept it",
    ]);
    const isAtWork = async () => (await world.events(run)).some(({ type }) => type === "command.output");
    await vi.waitUntil(isAtWork, patience);
    disk.fill();
    await vi.waitUntil(async () => (await world.putOff("putBlob")) > 1, patience);
    expect((await world.create(["SAY: too much"])).status).toBe(503);
    expect((await world.call("GET", "/agent/runs")).status).toBe(200);
    disk.makeRoom();
    expect(await world.ended(run)).toMatchObject({ state: "SUCCEEDED" });
    const { artifacts } = (await world.call("GET", `/agent/runs/${run}/artifacts`)).body;
    expect(artifacts).toMatchObject([{ name: "kept", size_bytes: 5_000_000 }]);
  });
});

describe("a full disk under a worker", () => {
  let disk: SmallDisk;
  let world: Installation;
  let database: Awaited<ReturnType<typeof testDatabase>>;

  beforeAll(async () => {
    disk = smallDisk(128);
    database = await testDatabase();
    const environment = { DATABASE_URL: database.url, OUTRIDER_MIN_FREE_MB: "32" };
    world = await Installation.start({ workerDir: join(disk.folder, "worker"), environment });
  });
  afterAll(async () => {
    await world?.stop();
    disk?.remove();
    await database?.drop();
  });

  test("a command that says more than events hold ends well, the run waits to store its files, and no other is taken", async () => {
    const run = await world.created([
      "RUN: echo begun; sleep 2; head -c 300000 /dev/urandom | base64; echo said",
      "SAY: all done",
    ]);
    const isAtWork = async () => (await world.events(run)).some(({ type }) => type === "command.output");
    await vi.waitUntil(isAtWork, patience);
    disk.fill();
    await world.worker.says("the disk is short of space: no new runs are taken");
    await world.worker.says("the disk is full: the files of a run cannot be stored");
    const next = await world.created(["SAY: my turn"]);
    const events = await world.events(run);
    expect(events.find(({ type }) => type === "notice")?.data).toMatchObject({ code: "output_not_kept" });
    expect(events.find(({ type }) => type === "command.finished")?.data).toMatchObject({ exit_code: 0 });
    expect((await world.call("GET", `/agent/runs/${next}`)).body.state).toBe("QUEUED");
    disk.makeRoom();
    for (const one of [run, next]) expect(await world.ended(one)).toMatchObject({ state: "SUCCEEDED" });
    await world.worker.says("there is room again: new runs are taken");
  });
});

describe("a full disk under the log", () => {
  let disk: SmallDisk;
  let dataDir: string;
  let server: Running;
  let database: Awaited<ReturnType<typeof testDatabase>>;

  beforeAll(async () => {
    disk = smallDisk(8);
    dataDir = makeDataDir();
    database = await testDatabase();
  });
  afterAll(async () => {
    await server?.end("SIGTERM");
    disk?.remove();
    await database?.drop();
    removeDataDir(dataDir);
  });

  test("the server serves on, and writes its lines again once there is room", async () => {
    const log = join(disk.folder, "log");
    const port = await freePort();
    const command = `exec ${join(root, "bin/outrider")} serve --workers 0 --port ${port} --data-dir ${dataDir} >${log} 2>&1`;
    const env = { PATH: process.env.PATH, DATABASE_URL: database.url, OUTRIDER_LOG_LEVEL: "debug" };
    server = watch(spawn("sh", ["-c", command], { env, stdio: "ignore" }), "outrider serve");
    const isReady = () =>
      call("GET", `http://127.0.0.1:${port}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await vi.waitUntil(isReady, patience);
    disk.fill();
    // Each asks for a log line.
    const before = readFileSync(log).length;
    for (let asked = 0; asked < 20; asked++)
      expect((await call("GET", `http://127.0.0.1:${port}/api/v1/nothing-${asked}`)).status).toBe(404);
    expect(readFileSync(log).length - before).toBeLessThan(4_096);
    disk.makeRoom();
    await vi.waitUntil(async () => {
      await isReady();
      return readFileSync(log).length > before + 100;
    }, patience);
  });
});
