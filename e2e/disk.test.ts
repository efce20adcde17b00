import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findEmbedded } from "@outrider/server/store/embedded";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../packages/server/test/server.ts";
import { endByFullLog, survivesFullDisk } from "./full-disk.ts";
import { Installation } from "./installation.ts";
import {
  call,
  freePort,
  makeDataDir,
  patience,
  type Running,
  removeDataDir,
  root,
  watch,
} from "./process.ts";
import { type SmallDisk, smallDisk } from "./small-disk.ts";

/** Disks that are full to the last byte, under real processes. Each part follows one installation, in this order. */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

describe("a full disk under the own database", () => {
  let disk: SmallDisk;
  let world: Installation;
  afterAll(async () => {
    await world?.stop();
    disk?.remove();
  });

  survivesFullDisk(async () => {
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

describe("a full disk under files", () => {
  let stored: SmallDisk;
  let workers: SmallDisk;
  let world: Installation;
  let dataDir: string;
  let database: Awaited<ReturnType<typeof testDatabase>>;

  beforeAll(async () => {
    dataDir = makeDataDir();
    const blobs = join(dataDir, "blobs");
    mkdirSync(blobs, { mode: 0o700 });
    stored = smallDisk(64, blobs);
    workers = smallDisk(128);
    database = await testDatabase();
    const environment = { DATABASE_URL: database.url, OUTRIDER_MIN_FREE_MB: "32" };
    world = await Installation.start({ dataDir, workerDir: join(workers.folder, "worker"), environment });
  });
  afterAll(async () => {
    await world?.stop();
    for (const disk of [stored, workers]) disk?.remove();
    await database?.drop();
    removeDataDir(dataDir);
  });

  test("of the worker: a command that says more than events hold ends well, the run waits to store its files, and no other is taken", async () => {
    const run = await world.created([
      "RUN: echo begun; sleep 2; head -c 300000 /dev/urandom | base64; echo said",
      "SAY: all done",
    ]);
    const isAtWork = async () => (await world.events(run)).some(({ type }) => type === "command.output");
    await vi.waitUntil(isAtWork, patience);
    workers.fill();
    // The worker's claim waits at the server, so it is given this one, and hands it back.
    const next = await world.created(["SAY: my turn"]);
    await world.worker.says("the disk is short of space: no new runs are taken");
    await world.worker.says("the disk is full: the files of a run cannot be stored");
    const events = await world.events(run);
    const notices = events.filter(({ type }) => type === "notice");
    expect(notices.map(({ data }) => data.code)).toContain("output_not_kept");
    expect(events.find(({ type }) => type === "command.finished")?.data).toMatchObject({ exit_code: 0 });
    expect((await world.call("GET", `/agent/runs/${next}`)).body.state).not.toBe("SUCCEEDED");
    workers.makeRoom();
    for (const one of [run, next]) expect(await world.ended(one)).toMatchObject({ state: "SUCCEEDED" });
    await world.worker.says("there is room again: new runs are taken");
  });

  test("of the server: a run waits with its artifact until there is room, and keeps it whole", async () => {
    const run = await world.created([
      "RUN: head -c 5000000 /dev/urandom > kept; sha256sum kept; until [ -e go ]; do sleep 0.1; test $((n++)) -lt 40 || break; done",
      'CALL: keep_artifact {"path": "kept"}',
      "SAY: kept it",
    ]);
    const isAtWork = async () => (await world.events(run)).some(({ type }) => type === "command.output");
    await vi.waitUntil(isAtWork, patience);
    stored.fill();
    await vi.waitUntil(async () => (await world.putOff("putBlob")) > 1, patience);
    expect((await world.create(["SAY: too much"])).status).toBe(503);
    expect((await world.call("GET", "/agent/runs")).status).toBe(200);
    stored.makeRoom();
    const { state, artifacts } = await world.ended(run);
    expect(state).toBe("SUCCEEDED");
    expect(artifacts[0]).toMatchObject({ name: "kept", size_bytes: 5_000_000 });
    const kept = await world.call("GET", `/agent/artifacts/${artifacts[0].artifact_id}/content`);
    expect(kept.status).toBe(200);
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
