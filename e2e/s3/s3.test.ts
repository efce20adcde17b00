import { createHash } from "node:crypto";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { ListMultipartUploadsCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import { UploadTarget } from "@outrider/contract/worker/blob";
import { openStorage } from "@outrider/server/blobs/open-storage";
import { readConfig } from "@outrider/server/config";
import { collectBlobs } from "@outrider/server/engine/operations/blob-gc";
import { type Db, openDb } from "@outrider/server/store/connection/db";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { openRequestGate, type RequestGate } from "../../packages/server/test/blobs/request-gate.ts";
import { type S3Server, s3Environment, startS3Server } from "../../packages/server/test/blobs/s3-server.ts";
import { testDatabase } from "../../packages/server/test/server.ts";
import { freePort } from "../../scripts/tests/free-port.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import {
  call,
  keyOf,
  makeDataDir,
  outrider,
  type Running,
  removeDataDir,
  run,
  type Serving,
  serve,
} from "../process.ts";

/** A real server with two workers whose files are in a bucket. The tests share it and run in order. */

const DAY_MS = 86_400_000;
/** Two parts of a multipart upload. */
const LARGE = 9_000_000;

describe("an installation with its files in S3", () => {
  let s3: S3Server;
  let gate: RequestGate;
  let bucket: string;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let db: Db;
  let dataDir: string;
  let port: number;
  let environment: Record<string, string>;
  let server: Serving;
  let workerKey: string;
  const workers = new Map<string, Running>();
  const folder = makeDataDir();

  beforeAll(async () => {
    for (const [name, value] of Object.entries(s3Environment)) vi.stubEnv(name, value);
    [s3, database, port] = await Promise.all([startS3Server(), testDatabase(), freePort()]);
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
    };
    server = await serve({ dataDir, port, environment });
    workerKey = (await api("POST", "/keys", { name: "worker", type: "worker" })).body.key;
    await startWorker("first");
  });
  afterAll(async () => {
    await Promise.all([...workers.values()].map((worker) => worker.end("SIGKILL")));
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

  async function startWorker(name: string) {
    const args = ["worker", "--server", server.origin, "--name", name, "--data-dir", join(folder, name)];
    const worker = run(args, { OUTRIDER_WORKER_KEY: workerKey });
    workers.set(name, worker);
    await worker.waitForOutput("ready for runs");
  }

  const create = async (script: string[]) =>
    (await api("POST", "/agent/run", { prompt: script.join("\n") })).body.run_id as string;
  const waitForEnd = (runId: string) =>
    vi.waitUntil(async () => {
      const reply = await api("GET", `/agent/runs/${runId}`).catch(() => undefined);
      return reply?.status === 200 && /^(SUCCEEDED|FAILED|CANCELLED)$/.test(reply.body.state)
        ? reply.body
        : undefined;
    }, waitOptions);
  const uploads = async () =>
    (await s3.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? [];
  const content = async (artifactId: string, headers = {}) => {
    const response = await fetch(`${server.origin}/api/v1/agent/artifacts/${artifactId}/content`, {
      headers: { authorization: `Bearer ${keyOf(dataDir)}`, ...headers },
    });
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  };

  test("another worker continues a run with its files, and artifacts can be downloaded, whole and in part", async () => {
    const runId = await create([
      "RUN: printf 'made by the first' > made.txt",
      'CALL: keep_artifact {"path": "made.txt"}',
      "SAY: done",
    ]);
    const first = await waitForEnd(runId);
    expect(first.state).toBe("SUCCEEDED");
    const [{ artifact_id }] = first.artifacts;
    expect((await content(artifact_id)).bytes.toString()).toBe("made by the first");
    const part = await content(artifact_id, { range: "bytes=8-" });
    expect({ ...part, bytes: part.bytes.toString() }).toEqual({ status: 206, bytes: "the first" });

    await workers.get("first")?.end("SIGKILL");
    await startWorker("second");
    await api("POST", `/agent/runs/${runId}/followups`, { message: "RUN: cat made.txt\nSAY: read" });
    await vi.waitUntil(async () => {
      const { text } = await api("GET", `/agent/runs/${runId}/events?limit=1000`);
      return text.includes('"exit_code":0') && text.split("made by the first").length > 2;
    }, waitOptions);
    expect((await waitForEnd(runId)).state).toBe("SUCCEEDED");
    expect(existsSync(join(dataDir, "blobs"))).toBe(false);
  });

  test("a server that is killed during an upload loses nothing, and its parts are removed", async () => {
    gate.hold(/partNumber=2/);
    const runId = await create([
      `RUN: head -c ${LARGE} /dev/urandom > large; sha256sum large`,
      'CALL: keep_artifact {"path": "large"}',
      "SAY: kept it",
    ]);
    await vi.waitUntil(() => gate.held() > 0, waitOptions);
    await server.end("SIGKILL");
    gate.open();
    expect(await uploads()).toHaveLength(1);
    server = await serve({ dataDir, port, environment });
    const { state, artifacts } = await waitForEnd(runId);
    expect(state).toBe("SUCCEEDED");
    const [{ artifact_id, size_bytes }] = artifacts;
    expect(size_bytes).toBe(LARGE);
    const [row] = await db`select sha256 from artifacts where artifact_id = ${artifact_id}`;
    const { bytes } = await content(artifact_id);
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(row?.sha256);

    // The worker has repeated the upload, so only the parts of the killed server are left.
    const storage = await openStorage(readConfig({}, environment).blobs);
    expect(await uploads()).toHaveLength(1);
    await collectBlobs(db, storage);
    expect(await uploads()).toHaveLength(1);
    await collectBlobs(db, storage, Date.now() + 2 * DAY_MS);
    expect(await uploads()).toEqual([]);
    expect((await content(artifact_id)).status).toBe(200);
  });

  test("garbage collection removes blobs that nothing refers to, and finds those without a row once a day", async () => {
    const storage = await openStorage(readConfig({}, environment).blobs);
    const put = async (text: string) => {
      const sha256 = createHash("sha256").update(text).digest("hex");
      await storage.put(sha256, Readable.from([Buffer.from(text)]));
      return sha256;
    };
    const rowsOf = async (sha256: string) => (await db`select 1 from blobs where sha256 = ${sha256}`).length;
    await db`delete from installation where name = 'blobs_listed_at'`;
    const orphan = await put("an orphan");
    await collectBlobs(db, storage);
    expect(await rowsOf(orphan)).toBe(1);
    const next = await put("another orphan");
    await collectBlobs(db, storage);
    expect(await rowsOf(next)).toBe(0);
    await db`update blobs set stored_at = outrider_now() - interval '2 days'`;
    expect(await collectBlobs(db, storage, Date.now() + 2 * DAY_MS)).toBeGreaterThan(0);
    expect(await storage.stat(orphan)).toBeUndefined();
    const kept = await db`select artifact_id from artifacts where removed_at is null`;
    expect(kept.length).toBeGreaterThan(1);
    for (const { artifact_id } of kept) expect((await content(artifact_id)).status).toBe(200);
  });

  test("a run waits while the bucket is unreachable, and other requests are answered", async () => {
    await s3.pause();
    const runId = await create([
      "RUN: echo kept > kept",
      'CALL: keep_artifact {"path": "kept"}',
      "SAY: kept it",
    ]);
    await vi.waitUntil(async () => {
      const { text } = await call("GET", `${server.origin}/metrics`, { key: keyOf(dataDir) });
      return (
        Number(/outrider_blob_storage_failures_total\{problem="unreachable"\} (\d+)/.exec(text)?.[1]) > 1
      );
    }, waitOptions);
    expect((await api("GET", "/agent/runs")).status).toBe(200);
    expect(server.stderr() + server.stdout()).toContain("is unreachable. Check OUTRIDER_S3_ENDPOINT");
    await s3.resume();
    const { state, artifacts } = await waitForEnd(runId);
    expect(state).toBe("SUCCEEDED");
    expect((await content(artifacts[0].artifact_id)).bytes.toString()).toBe("kept\n");
  });

  test("workers exchange large files with the bucket directly, and with the server if that fails", async () => {
    await server.end("SIGTERM");
    server = await serve({ dataDir, port, environment: { ...environment, OUTRIDER_S3_DIRECT: "workers" } });
    // The other worker remembers for some minutes that the server did not offer this.
    await workers.get("second")?.end("SIGKILL");
    await startWorker("third");
    const worker = (method: string, path: string) =>
      fetch(`${server.origin}/api/v1/worker/blobs/${path}`, {
        method,
        redirect: "manual",
        headers: { authorization: `Bearer ${workerKey}` },
      });
    const direct = Buffer.alloc(2_000, "direct");
    const sha256 = createHash("sha256").update(direct).digest("hex");
    const ask = async () => (await worker("POST", `${sha256}/upload?size=2000`)).json();
    const target = UploadTarget.parse(await ask());
    if (target.type !== "direct") throw new Error(`The target is ${target.type}.`);
    expect(target.url).toContain("X-Amz-Expires=300");
    const { "content-length": _, ...headers } = target.headers;
    const upload = (body: Buffer) => fetch(target.url, { method: "PUT", headers, body });
    // The bucket itself accepts only the content with this hash and size.
    for (const wrong of [Buffer.alloc(2_000, "Direct"), direct.subarray(1)])
      expect((await upload(wrong)).status).toBeGreaterThan(399);
    expect(await ask()).toMatchObject({ type: "direct" });
    expect((await upload(direct)).status).toBe(200);
    expect(await ask()).toEqual({ type: "stored" });
    const redirect = await worker("GET", `${sha256}?direct=true`);
    expect(redirect.status).toBe(307);
    const found = await fetch(redirect.headers.get("location") as string);
    expect(found.headers.get("content-disposition")).toBe("attachment");
    expect(Buffer.from(await found.arrayBuffer()).equals(direct)).toBe(true);
    expect((await worker("GET", sha256)).status).toBe(200);

    const counted = async (operation: string, status: number) => {
      const { text } = await call("GET", `${server.origin}/metrics`, { key: keyOf(dataDir) });
      const line = new RegExp(
        `requests_total\\{operation="worker.${operation}",status="${status}"\\} (\\d+)`,
      );
      return Number(line.exec(text)?.[1] ?? 0);
    };
    const script = (name: string) => [
      `RUN: head -c 3000000 /dev/urandom > ${name}`,
      `CALL: keep_artifact {"path": "${name}"}`,
      "SAY: kept it",
    ];
    const asked = await counted("uploadBlob", 200);
    const first = await waitForEnd(await create(script("direct")));
    expect(first.state).toBe("SUCCEEDED");
    expect((await content(first.artifacts[0].artifact_id)).bytes).toHaveLength(3_000_000);
    expect(await counted("uploadBlob", 200)).toBeGreaterThan(asked);

    gate.reject(/X-Amz-Algorithm/);
    const second = await waitForEnd(await create(script("fallback")));
    gate.open();
    expect(second.state).toBe("SUCCEEDED");
    expect((await content(second.artifacts[0].artifact_id)).bytes).toHaveLength(3_000_000);
  });

  test("doctor checks the bucket, and says what is wrong with it", async () => {
    const doctor = async (overrides = {}) => {
      const { stdout } = await outrider(["doctor", "--json", "--for", "server"], {
        ...environment,
        ...overrides,
      });
      return JSON.parse(stdout).findings.find(({ name }: { name: string }) => name === "storage");
    };
    const [fine, wrong] = await Promise.all([doctor(), doctor({ OUTRIDER_BLOBS: "s3://not-there" })]);
    expect(fine).toMatchObject({ state: "ok", message: expect.stringContaining(`s3://${bucket}/runs`) });
    expect(wrong).toMatchObject({
      state: "fail",
      remedy: expect.stringContaining("The bucket not-there does not exist"),
    });
  });

  test("another installation cannot use the same bucket and prefix", async () => {
    const other = await testDatabase();
    const otherDir = makeDataDir();
    onTestFinished(async () => {
      await other.drop();
      removeDataDir(otherDir);
    });
    const { code, stderr } = await outrider(["serve", "--port", "0"], {
      ...environment,
      DATABASE_URL: other.url,
      OUTRIDER_DATA_DIR: otherDir,
    });
    expect(code).not.toBe(0);
    expect(stderr).toContain("contains the files of another installation");
  });

  test("files move to a folder and to another prefix, and a repetition copies nothing", async () => {
    const target = join(folder, "moved");
    const move = (...args: string[]) => outrider(["blobs", "move", "--json", ...args], environment);
    const { Contents = [] } = await s3.client.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: "runs/" }),
    );
    const count = Contents.length - 1; // without the object that names the installation
    const moved = await move("--to", target);
    expect(JSON.parse(moved.stdout)).toMatchObject({ copied: count, present: 0, damaged: [] });
    expect(JSON.parse((await move("--to", target)).stdout)).toMatchObject({ copied: 0, present: count });

    const [part = ""] = readdirSync(target);
    const [damaged = ""] = readdirSync(join(target, part));
    writeFileSync(join(target, part, damaged), "damaged");
    const back = await move("--from", target, "--to", `s3://${bucket}/other`);
    expect(back.code).toBe(1);
    expect(back.stderr).toContain(damaged);
    expect(JSON.parse(back.stdout)).toMatchObject({ copied: count - 1, damaged: [damaged] });
  });

  test("a backup contains the files, and restores them to a folder", async () => {
    const file = join(folder, "all.backup");
    const backup = await outrider(["backup", file, "--json"], environment);
    expect(backup.code, backup.stderr).toBe(0);
    const { files } = JSON.parse(backup.stdout);
    expect(files.count).toBeGreaterThan(2);
    const target = await testDatabase();
    const restored = join(folder, "restored");
    onTestFinished(() => target.drop());
    const place = { DATABASE_URL: target.url, OUTRIDER_DATA_DIR: restored };
    const restore = await outrider(["restore", file, "--json"], place);
    expect(restore.code, restore.stderr).toBe(0);
    const names = readdirSync(join(restored, "blobs"), { recursive: true }).filter(
      (name) => String(name).length > 60,
    );
    expect(names).toHaveLength(files.count);
  });
});
