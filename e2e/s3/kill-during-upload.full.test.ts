import { createHash } from "node:crypto";
import { join } from "node:path";
import { ListMultipartUploadsCommand } from "@aws-sdk/client-s3";
import type { BlobStorage } from "@outrider/server/blobs/blob-storage";
import { openStorage } from "@outrider/server/blobs/open-storage";
import { readConfig } from "@outrider/server/config";
import { collectBlobs } from "@outrider/server/engine/operations/blob-gc";
import { listNeededBlobs } from "@outrider/server/store/blobs";
import { type Db, openDb } from "@outrider/server/store/connection/db";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openRequestGate, type RequestGate } from "../../packages/server/test/blobs/request-gate.ts";
import { type S3Server, s3Environment, startS3Server } from "../../packages/server/test/blobs/s3-server.ts";
import { listAll } from "../../packages/server/test/blobs/storage-conformance.ts";
import { testDatabase } from "../../packages/server/test/server.ts";
import { freePort } from "../../scripts/tests/free-port.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import {
  call,
  keyOf,
  makeDataDir,
  type Running,
  removeDataDir,
  run,
  type Serving,
  serve,
} from "../process.ts";

/**
 * Kills servers and workers at every step of an upload to a bucket. Afterwards every run has its files, and garbage
 * collection leaves exactly the files that are needed. The tests share an installation and run in order.
 */

const DAY_MS = 86_400_000;
/** Two parts of a multipart upload. */
const LARGE = 9_000_000;

const begins = /^POST \S+\?uploads/;
const completes = /^POST \S+\?uploadId=/;
const secondPart = /partNumber=2/;
const direct = /^PUT \S+X-Amz-Algorithm/;

interface Kill {
  of: ("server" | "worker")[];
  /** Whether the S3 server receives the request. */
  at: "request" | "answer";
  line: RegExp;
  mode?: "none" | "workers";
}

const kills: [string, Kill][] = [
  ["the server after the upload has begun", { of: ["server"], at: "answer", line: begins }],
  ["the server between parts", { of: ["server"], at: "request", line: secondPart }],
  ["the server before the upload is complete", { of: ["server"], at: "request", line: completes }],
  ["the server after the upload is complete", { of: ["server"], at: "answer", line: completes }],
  ["the worker between parts", { of: ["worker"], at: "request", line: secondPart }],
  ["the worker before the upload is complete", { of: ["worker"], at: "request", line: completes }],
  ["both between parts", { of: ["server", "worker"], at: "request", line: secondPart }],
  ["the worker during a direct upload", { of: ["worker"], at: "request", line: direct, mode: "workers" }],
  ["both after a direct upload", { of: ["server", "worker"], at: "answer", line: direct, mode: "workers" }],
];

describe.each(["versitygw", "minio"] as const)("with files in %s", (name) => {
  let s3: S3Server;
  let gate: RequestGate;
  let bucket: string;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let db: Db;
  let storage: BlobStorage;
  let dataDir: string;
  let port: number;
  let environment: Record<string, string>;
  let server: Serving;
  let workerKey: string;
  let worker: Running;
  let workers = 0;
  const folder = makeDataDir();
  const runs: string[] = [];

  beforeAll(async () => {
    for (const [variable, value] of Object.entries(s3Environment)) vi.stubEnv(variable, value);
    [s3, database, port] = await Promise.all([startS3Server(name), testDatabase(), freePort()]);
    bucket = await s3.newBucket();
    gate = await openRequestGate(s3.endpoint);
    db = openDb(database.url, { connections: 1 });
    dataDir = makeDataDir();
    environment = {
      ...s3Environment,
      DATABASE_URL: database.url,
      OUTRIDER_DATA_DIR: dataDir,
      OUTRIDER_BLOBS: `s3://${bucket}/runs`,
      OUTRIDER_S3_ENDPOINT: gate.url,
      OUTRIDER_S3_DIRECT: "none",
      OUTRIDER_WORKERS: "0",
      OUTRIDER_LEASE_SECONDS: "5",
      OUTRIDER_LEASE_GRACE_SECONDS: "5",
    };
    storage = await openStorage(readConfig({}, { ...environment, OUTRIDER_S3_ENDPOINT: s3.endpoint }).blobs);
    await startServer();
    workerKey = (await api("POST", "/keys", { name: "worker", type: "worker" })).body.key;
    await startWorker();
  }, 20 * 60_000);
  afterAll(async () => {
    await worker?.end("SIGKILL");
    await server?.end("SIGTERM");
    await db?.end();
    await database?.drop();
    gate?.close();
    await s3?.close();
    removeDataDir(dataDir);
    removeDataDir(folder);
    vi.unstubAllEnvs();
  });

  const api = (method: string, path: string, body?: unknown) =>
    call(method, `${server.origin}/api/v1${path}`, { key: keyOf(dataDir), body });

  async function startServer() {
    server = await serve({ dataDir, port, environment });
  }

  /** Each worker has its own folder, so the files of runs come from the bucket. */
  async function startWorker() {
    const place = ["--name", `worker-${++workers}`, "--data-dir", join(folder, String(workers))];
    worker = run(["worker", "--server", server.origin, ...place], { OUTRIDER_WORKER_KEY: workerKey });
    await worker.waitForOutput("ready for runs");
  }

  const waitForEnd = (runId: string) =>
    vi.waitUntil(
      async () => {
        const reply = await api("GET", `/agent/runs/${runId}`).catch(() => undefined);
        return /^(SUCCEEDED|FAILED|CANCELLED)$/.test(reply?.body?.state) ? reply?.body : undefined;
      },
      { ...waitOptions, timeout: 3 * waitOptions.timeout },
    );
  const uploads = async () =>
    (await s3.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? [];
  const content = async (artifactId: string) => {
    const response = await fetch(`${server.origin}/api/v1/agent/artifacts/${artifactId}/content`, {
      headers: { authorization: `Bearer ${keyOf(dataDir)}` },
    });
    return Buffer.from(await response.arrayBuffer());
  };

  test.each(kills)("a run keeps its files if a kill ends %s", async (_, { of, at, line, mode = "none" }) => {
    if (environment.OUTRIDER_S3_DIRECT !== mode) {
      environment = { ...environment, OUTRIDER_S3_DIRECT: mode };
      await server.end("SIGTERM");
      await startServer();
      // A worker remembers for some minutes that the server did not offer direct uploads.
      await worker.end("SIGKILL");
      await startWorker();
    }
    const before = gate.held();
    if (at === "request") gate.hold(line);
    else gate.holdAnswer(line);
    const script = [
      `RUN: head -c ${LARGE} /dev/urandom > large`,
      'CALL: keep_artifact {"path": "large"}',
      "SAY: kept it",
    ];
    const created = await api("POST", "/agent/run", { prompt: script.join("\n") });
    const runId = created.body.run_id as string;
    await vi.waitUntil(() => gate.held() > before, waitOptions);
    await Promise.all(of.map((process) => (process === "server" ? server : worker).end("SIGKILL")));
    gate.open();
    if (of.includes("server")) await startServer();
    if (of.includes("worker")) await startWorker();
    const { state, artifacts } = await waitForEnd(runId);
    expect(state).toBe("SUCCEEDED");
    expect(artifacts.length).toBeGreaterThan(0);
    runs.push(runId);
  });

  test("garbage collection leaves exactly the files that are needed, and no upload", async () => {
    await vi.waitUntil(async () => {
      const [row] = await db`select count(*)::int as count from run_state where state = 'INPROGRESS'`;
      return row?.count === 0;
    }, waitOptions);
    expect((await uploads()).length).toBeGreaterThan(0); // of the servers that were killed
    await db`delete from installation where name = 'blobs_listed_at'`;
    await collectBlobs(db, storage);
    await db`update blobs set stored_at = outrider_now() - interval '2 days'`;
    await collectBlobs(db, storage, Date.now() + 2 * DAY_MS);
    expect(await uploads()).toEqual([]);
    const needed = await db.begin(async (tx) => {
      const hashes: string[] = [];
      for await (const rows of listNeededBlobs(tx, { withBuilds: true }))
        hashes.push(...rows.map(({ sha256 }) => sha256));
      return hashes;
    });
    expect(needed.length).toBeGreaterThan(kills.length);
    expect((await listAll(storage)).map(({ sha256 }) => sha256).sort()).toEqual(needed);
  });

  test("every run has its artifact, and continues with its files on another worker", async () => {
    await worker.end("SIGKILL");
    await startWorker();
    expect(runs).toHaveLength(kills.length);
    for (const runId of runs) {
      const rows =
        await db`select artifact_id, sha256 from artifacts where run_id = ${runId} and name = 'large'`;
      for (const { artifact_id, sha256 } of rows)
        expect(
          createHash("sha256")
            .update(await content(artifact_id))
            .digest("hex"),
        ).toBe(sha256);
      await api("POST", `/agent/runs/${runId}/followups`, { message: "RUN: sha256sum large\nSAY: read" });
      await vi.waitUntil(async () => {
        const { text } = await api("GET", `/agent/runs/${runId}/events?limit=1000`);
        return rows.some(({ sha256 }) => text.includes(`${sha256}  large`));
      }, waitOptions);
    }
  });
});
