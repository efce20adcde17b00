import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findEmbedded } from "@outrider/server/postgres/embedded-postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../../packages/server/test/server.ts";
import { freePort } from "../../scripts/tests/free-port.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { call, makeDataDir, type Running, removeDataDir, root, watch } from "../process.ts";
import { crashByFullWal, testFullDisk } from "./full-disk.ts";
import { Installation } from "./installation.ts";
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts";

/** Tests real processes on completely full disks. The tests of each group share one installation and run in order. */

describe("a full disk under the embedded database", () => {
  let disk: SmallDisk;
  let installation: Installation;
  afterAll(async () => {
    await installation?.stop();
    disk?.remove();
  });

  testFullDisk(async () => {
    disk = mountSmallDisk(400);
    const dataDir = join(disk.folder, "data");
    mkdirSync(dataDir, { mode: 0o711 });
    installation = await Installation.start({ dataDir, environment: { OUTRIDER_MIN_FREE_MB: "32" } });
    const crashDatabase = async () => {
      const connection = await findEmbedded(dataDir);
      if (connection) await crashByFullWal(connection);
    };
    return { installation, disk, crashDatabase };
  });
});

describe("a full disk under the files of runs", () => {
  let stored: SmallDisk;
  let workers: SmallDisk;
  let installation: Installation;
  let dataDir: string;
  let database: Awaited<ReturnType<typeof testDatabase>>;

  beforeAll(async () => {
    dataDir = makeDataDir();
    const blobs = join(dataDir, "blobs");
    mkdirSync(blobs, { mode: 0o700 });
    stored = mountSmallDisk(64, blobs);
    workers = mountSmallDisk(128);
    database = await testDatabase();
    const environment = { DATABASE_URL: database.url, OUTRIDER_MIN_FREE_MB: "32" };
    installation = await Installation.start({
      dataDir,
      workerDir: join(workers.folder, "worker"),
      environment,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    for (const disk of [stored, workers]) disk?.remove();
    await database?.drop();
    removeDataDir(dataDir);
  });

  test("on the worker: a command with long output succeeds, the run waits to store its files, and the worker accepts no other run", async () => {
    const run = await installation.createRun([
      "RUN: head -c 5000000 /dev/urandom > made; echo begun; sleep 2; head -c 300000 /dev/urandom | base64; echo said",
      "SAY: all done",
    ]);
    const isRunning = async () =>
      (await installation.events(run)).some(({ type }) => type === "command.output");
    await vi.waitUntil(isRunning, waitOptions);
    workers.fill();
    // The worker's pending claim still receives this run, and the worker returns it.
    const next = await installation.createRun(["SAY: my turn"]);
    await installation.worker.waitForOutput("disk space low, not accepting new runs");
    await installation.worker.waitForOutput("disk full, failed to store run files");
    const events = await installation.events(run);
    const notices = events.filter(({ type }) => type === "notice");
    expect(notices.map(({ data }) => data.code)).toContain("output_not_kept");
    expect(events.find(({ type }) => type === "command.finished")?.data).toMatchObject({ exit_code: 0 });
    expect((await installation.call("GET", `/agent/runs/${next}`)).body.state).not.toBe("SUCCEEDED");
    workers.freeSpace();
    for (const id of [run, next])
      expect(await installation.waitForEnd(id)).toMatchObject({ state: "SUCCEEDED" });
    await installation.worker.waitForOutput("disk space recovered, accepting new runs");
  });

  test("on the server: a run waits until there is space for its artifact, and stores it completely", async () => {
    const run = await installation.createRun([
      "RUN: head -c 5000000 /dev/urandom > kept; sha256sum kept; until [ -e go ]; do sleep 0.1; test $((n++)) -lt 40 || break; done",
      'CALL: keep_artifact {"path": "kept"}',
      "SAY: kept it",
    ]);
    const isRunning = async () =>
      (await installation.events(run)).some(({ type }) => type === "command.output");
    await vi.waitUntil(isRunning, waitOptions);
    stored.fill();
    await vi.waitUntil(async () => (await installation.countUnavailable("putBlob")) > 1, waitOptions);
    expect((await installation.tryCreateRun(["SAY: too much"])).status).toBe(503);
    expect((await installation.call("GET", "/agent/runs")).status).toBe(200);
    stored.freeSpace();
    const { state, artifacts } = await installation.waitForEnd(run);
    expect(state).toBe("SUCCEEDED");
    expect(artifacts[0]).toMatchObject({ name: "kept", size_bytes: 5_000_000 });
    const kept = await installation.call("GET", `/agent/artifacts/${artifacts[0].artifact_id}/content`);
    expect(kept.status).toBe(200);
  });
});

describe("a full disk under the log", () => {
  let disk: SmallDisk;
  let dataDir: string;
  let log: string;
  let server: Running;
  let database: Awaited<ReturnType<typeof testDatabase>>;

  beforeAll(async () => {
    disk = mountSmallDisk(8);
    log = join(disk.folder, "log");
    dataDir = makeDataDir();
    database = await testDatabase();
  });
  afterAll(async () => {
    await server?.end("SIGTERM");
    disk?.remove();
    await database?.drop();
    removeDataDir(dataDir);
  });

  // A test that fails must not leave a full disk to the next one.
  afterEach(() => disk?.freeSpace());

  function start(port: number): () => Promise<boolean> {
    const command = `exec ${join(root, "bin/outrider")} serve --workers 0 --port ${port} --data-dir ${dataDir} >${log} 2>&1`;
    const env = { PATH: process.env.PATH, DATABASE_URL: database.url, OUTRIDER_LOG_LEVEL: "debug" };
    server = watch(spawn("sh", ["-c", command], { env, stdio: "ignore" }), "outrider serve");
    return () =>
      call("GET", `http://127.0.0.1:${port}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
  }

  test("the server starts, serves and stops without its log", async () => {
    writeFileSync(log, "");
    disk.fill();
    const isReady = start(await freePort());
    await vi.waitUntil(isReady, waitOptions);
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(readFileSync(log, "utf8")).toBe("");
  });

  test("the server keeps serving, and writes log lines again once there is space", async () => {
    const port = await freePort();
    const isReady = start(port);
    await vi.waitUntil(isReady, waitOptions);
    disk.fill();
    // Each request would write a log line.
    const before = readFileSync(log).length;
    for (let count = 0; count < 20; count++)
      expect((await call("GET", `http://127.0.0.1:${port}/api/v1/nothing-${count}`)).status).toBe(404);
    expect(readFileSync(log).length - before).toBeLessThan(4_096);
    disk.freeSpace();
    await vi.waitUntil(async () => {
      await isReady();
      return readFileSync(log).length > before + 100;
    }, waitOptions);
  });
});
