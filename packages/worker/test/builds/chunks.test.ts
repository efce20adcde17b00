import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { openFolder } from "@outrider/server/blobs/folder";
import { collectBlobs } from "@outrider/server/engine/operations/blob-gc";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { joinArchive, splitArchive } from "../../src/builds/chunks/archive-parts.ts";
import { ChunkCache } from "../../src/builds/chunks/chunk-cache.ts";
import { type Chunk, formatChunkList, parseChunkList } from "../../src/builds/chunks/chunk-list.ts";
import { Chunker, chunkBytes } from "../../src/builds/chunks/chunker.ts";
import { fetchArchive } from "../../src/builds/chunks/fetch-chunks.ts";
import { storeArchive } from "../../src/builds/chunks/store-chunks.ts";
import { silentLog } from "../../src/log.ts";
import { connectToServer, type ServerClient } from "../../src/server-client/server-client.ts";
import { startTestInstallation, type TestInstallation } from "../installation.ts";

const run = promisify(execFile);
const signal = new AbortController().signal;
const sha256 = (data: Buffer) => createHash("sha256").update(data).digest("hex");

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "outrider-chunks-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Packs a folder as a build's files are packed. */
function pack(folder: string): Readable {
  const format = ["--format=pax", "--pax-option=delete=atime,delete=ctime", "--sparse", "--sort=name"];
  return spawn("tar", [...format, "-C", folder, "-cf", "-", "."]).stdout;
}

const join2 = (parts: Record<"headers" | "contents", Buffer[]>) =>
  joinArchive({ headers: Readable.from(parts.headers), contents: Readable.from(parts.contents) });

describe("an archive", () => {
  test("is divided into headers and contents, and joined again", async () => {
    const folder = makeFolder();
    const long = join(folder, "d".repeat(120), "e".repeat(120));
    mkdirSync(long, { recursive: true });
    writeFileSync(join(long, "file\nname"), randomBytes(5_000));
    writeFileSync(join(folder, "empty"), "");
    writeFileSync(join(folder, "block"), "x".repeat(512));
    writeFileSync(join(folder, "sparse"), "begin");
    truncateSync(join(folder, "sparse"), 50_000_000);
    await run("ln", [join(folder, "block"), join(folder, "hard link")]);
    await run("ln", ["-s", "f".repeat(200), join(folder, "link")]);
    const archive = await buffer(pack(folder));
    const parts = { headers: [] as Buffer[], contents: [] as Buffer[] };
    const pieces = Array.from({ length: Math.ceil(archive.length / 700) }, (_, at) =>
      archive.subarray(at * 700, (at + 1) * 700),
    );
    for await (const { part, data } of splitArchive(Readable.from(pieces))) parts[part].push(data);
    expect(Buffer.concat(parts.contents).includes("begin")).toBe(true);
    expect(Buffer.concat(parts.headers).includes("begin")).toBe(false);
    expect(sha256(await buffer(join2(parts)))).toBe(sha256(archive));
    parts.contents.pop();
    await expect(buffer(join2(parts))).rejects.toThrow("incomplete");
  });

  test("is cut where its content says so, regardless of the pieces in which it arrives", () => {
    const data = randomBytes(20 * 2 ** 20);
    const cut = (input: Buffer, pieceBytes: number) => {
      const chunker = new Chunker();
      const chunks: Buffer[] = [];
      for (let at = 0; at < input.length; at += pieceBytes)
        chunks.push(...chunker.push(input.subarray(at, at + pieceBytes)));
      return [...chunks, ...[chunker.finish() ?? []].flat()];
    };
    const whole = cut(data, data.length);
    expect(cut(data, 65_521).map(sha256)).toEqual(whole.map(sha256));
    expect(Buffer.concat(whole).equals(data)).toBe(true);
    for (const chunk of whole.slice(0, -1)) {
      expect(chunk.length).toBeGreaterThanOrEqual(chunkBytes.min);
      expect(chunk.length).toBeLessThanOrEqual(chunkBytes.max);
    }
    const inserted = cut(Buffer.concat([Buffer.from("new"), data]), data.length).map(sha256);
    expect(whole.filter((chunk) => inserted.includes(sha256(chunk))).length).toBeGreaterThan(
      whole.length - 4,
    );
    expect(cut(Buffer.alloc(9 * 2 ** 20), 2 ** 20).map(({ length }) => length / 2 ** 20)).toEqual([4, 4, 1]);
  });

  test("is rejected if its list of chunks is too large or invalid", () => {
    const chunk = { sha256: "a".repeat(64), storedBytes: 10, bytes: 20 };
    const format = (changed: object) =>
      formatChunkList({ headers: [], contents: [{ ...chunk, ...changed } as Chunk] });
    expect(parseChunkList(format({}))).toEqual({ headers: [], contents: [chunk] });
    for (const changed of [{ sha256: "../x" }, { bytes: 2 ** 30 }, { storedBytes: 2 ** 30 }, { bytes: -1 }])
      expect(() => parseChunkList(format(changed)), JSON.stringify(changed)).toThrow(
        "no valid hash and size",
      );
    const many = Array.from({ length: 300_000 }, () => chunk);
    expect(() => parseChunkList(formatChunkList({ headers: [], contents: many }))).toThrow("too large");
    expect(() => parseChunkList(Buffer.from('{"format":"other"}'))).toThrow("upgrade this worker");
  });
});

describe("a build in chunks", () => {
  let installation: TestInstallation;
  let server: ServerClient;
  let environmentId: string;
  let workerId: string;
  const blobs = () => join(installation.dataFolder, "blobs");

  beforeAll(async () => {
    installation = await startTestInstallation();
    server = connectToServer({ url: installation.origin, key: installation.workerKey });
    workerId = randomUUID();
    const body = { name: "in chunks", setup_commands: ["true"] };
    environmentId = (await installation.call("POST", "/agent/environments", { body })).body.environment_id;
  });
  afterAll(async () => {
    server.stop();
    await installation.stop();
  });

  /** Returns a client that counts what it transfers. */
  function counting() {
    const counts = { asked: 0, sent: 0, sentBytes: 0, fetched: 0 };
    const client: ServerClient = {
      ...server,
      recordChunks: (...args) => {
        counts.asked += 1;
        return server.recordChunks(...args);
      },
      putBlob: async (content, ...args) => {
        await server.putBlob(content, ...args);
        counts.sent += 1;
        counts.sentBytes += content.length;
      },
      getBlob: (...args) => {
        counts.fetched += 1;
        return server.getBlob(...args);
      },
    };
    return { counts, client };
  }

  const makeCache = (folder = makeFolder(), maxBytes = 2 ** 30) =>
    new ChunkCache({ folder, maxBytes, log: silentLog });

  async function claimBuild() {
    await installation.call("POST", `/agent/environments/${environmentId}/builds`);
    const worker = { worker_id: workerId, name: "w", version: "0", slots: 1 };
    const request = { request_id: randomUUID(), worker, free: 1, wait_ms: 30_000 };
    const [build] = (await server.claim(request, signal)).builds;
    return { buildId: build?.build_id as string, token: build?.token as string };
  }

  /** Stores a folder as a build. */
  async function store(folder: string, { cache = makeCache(), client = server } = {}) {
    const lease = await claimBuild();
    const stored = await storeArchive(pack(folder), { ...lease, server: client, cache, signal });
    const outcome = { type: "ready" as const, key: "a".repeat(64), repositories: [] };
    const { message, ...blob } = stored;
    const body = { token: lease.token, batch: 1, events: [], outcome: { ...outcome, ...blob } };
    await server.finishBuild(lease.buildId, body, signal);
    const list = parseChunkList(await buffer(await server.getBlob(stored.sha256, signal)));
    return { ...lease, ...stored, list };
  }

  async function fetchBuild({ list, buildId }: Awaited<ReturnType<typeof store>>, cache = makeCache()) {
    const { counts, client } = counting();
    const options = { server: client, cache, buildId, signal, onFetched: () => {} };
    const archive = await buffer(Readable.from(fetchArchive(list, options)));
    return { counts, hash: sha256(archive) };
  }

  function makeFiles(): string {
    const folder = makeFolder();
    for (let at = 0; at < 40; at++)
      writeFileSync(join(folder, `file-${String(at).padStart(2, "0")}`), randomBytes(600_000));
    return folder;
  }

  const setTimes = (folder: string, time: number) => {
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), time, time);
  };

  const blobFile = ({ sha256: hash }: { sha256: string }) => join(blobs(), hash.slice(0, 2), hash);
  const all = ({ list }: Awaited<ReturnType<typeof store>>) => [...list.headers, ...list.contents];

  test("shares chunks with a build that has other times, so only the difference is transferred", async () => {
    const folder = makeFiles();
    const first = await store(folder);
    expect(first.message).toMatch(/^Stored 24 MB as (\d+) chunks, \1 of them new \(24 MB sent\)\.$/);
    const workerCache = makeCache();
    const whole = await fetchBuild(first, workerCache);
    expect(whole.counts.fetched).toBe(all(first).length);
    expect(whole.hash).toBe(sha256(await buffer(pack(folder))));

    setTimes(folder, 1_000_000);
    writeFileSync(join(folder, "file-20"), randomBytes(600_000));
    const { counts, client } = counting();
    const second = await store(folder, { client });
    const added = all(second).filter(
      ({ sha256: hash }) => !all(first).some((chunk) => chunk.sha256 === hash),
    );
    expect(added.length).toBeLessThan(5);
    // The list of chunks is a file too.
    expect(counts.sent).toBe(added.length + 1);
    expect(counts.asked).toBe(Math.ceil(all(second).length / 8));
    expect(counts.sentBytes).toBeLessThan(first.size_bytes / 3);
    expect(second.message).toContain(`${added.length} of them new`);
    const difference = await fetchBuild(second, workerCache);
    expect(difference).toMatchObject({
      counts: { fetched: added.length },
      hash: sha256(await buffer(pack(folder))),
    });
  });

  test("continues an interrupted upload without sending anything twice", async () => {
    const folder = makeFiles();
    const lease = await claimBuild();
    const { counts, client } = counting();
    const interrupted: ServerClient = {
      ...client,
      putBlob: (...args) =>
        counts.sent < 4 ? client.putBlob(...args) : Promise.reject(new Error("cut off")),
    };
    const options = { cache: makeCache(), signal };
    await expect(storeArchive(pack(folder), { ...options, ...lease, server: interrupted })).rejects.toThrow(
      "cut off",
    );
    const sent = counts.sent;
    expect(sent).toBeGreaterThanOrEqual(4);
    await server.finishBuild(
      lease.buildId,
      { token: lease.token, batch: 1, events: [], outcome: { type: "abandoned" } },
      signal,
    );
    const second = await store(folder, { client });
    expect(counts.sent).toBe(all(second).length + 1);
    const rows = await installation.db`select 1 from build_chunks where build_id = ${second.buildId}`;
    expect(rows).toHaveLength(all(second).length);
    await expect(
      server.recordChunks(lease.buildId, { token: lease.token, chunks: [] }, signal),
    ).rejects.toThrow("does not belong to this worker");
  });

  test("says that a chunk is damaged or missing, and does not cache it", async () => {
    const build = await store(makeFiles());
    const [chunk] = build.list.contents as [Chunk];
    const content = readFileSync(blobFile(chunk));
    const folder = makeFolder();
    for (const [damage, problem] of [
      [() => writeFileSync(blobFile(chunk), randomBytes(content.length)), "is damaged"],
      [() => writeFileSync(blobFile(chunk), Buffer.concat([content, content])), "is damaged"],
      [() => rmSync(blobFile(chunk)), "is missing"],
    ] as const) {
      damage();
      await expect(fetchBuild(build, makeCache(folder))).rejects.toThrow(
        `A part of the build ${build.buildId} ${problem} on the server. Build the environment again`,
      );
      expect(readdirSync(folder)).not.toContain(chunk.sha256);
    }
    writeFileSync(blobFile(chunk), content);
    const { hash } = await fetchBuild(build, makeCache(folder));

    // A chunk that is damaged on this worker is fetched again.
    writeFileSync(join(folder, chunk.sha256), "damaged");
    const again = await fetchBuild(build, makeCache(folder));
    expect(again).toMatchObject({ counts: { fetched: 1 }, hash });
  });

  test("keeps its chunks while it exists, and not longer", async () => {
    const folder = makeFiles();
    const [first, cache] = [await store(folder), makeCache()];
    writeFileSync(join(folder, "file-30"), randomBytes(600_000));
    const second = await store(folder);
    const old = new Date(Date.now() - 2 * 86_400_000);
    for (const chunk of [...all(first), ...all(second)]) utimesSync(blobFile(chunk), old, old);
    await installation.db`update blobs set stored_at = ${old}`;
    const removed = all(first).filter(
      ({ sha256: hash }) => !all(second).some((chunk) => chunk.sha256 === hash),
    );
    expect(await collectBlobs(installation.db, openFolder(blobs()))).toBe(0);
    await installation.db`delete from builds where build_id = ${first.buildId}`;
    await collectBlobs(installation.db, openFolder(blobs()));
    const rows = await installation.db`
      select 1 from blobs where sha256 = any(${all(first).map((chunk) => chunk.sha256)}::text[])`;
    expect(rows).toHaveLength(all(first).length - removed.length);
    expect(removed.length).toBeGreaterThan(0);
    expect((await fetchBuild(second, cache)).hash).toBe(sha256(await buffer(pack(folder))));
  });

  test("leaves a worker's cache within its limit, least recently used first", async () => {
    const folder = makeFolder();
    const cache = makeCache(folder, 250);
    const chunks = ["a", "b", "c"].map((text) => Buffer.from(text.repeat(100)));
    const [a, b, c] = chunks.map(sha256) as [string, string, string];
    const [dataA, dataB, dataC] = chunks as [Buffer, Buffer, Buffer];
    await cache.add(a, dataA);
    await cache.add(b, dataB);
    expect(await cache.read(a)).toEqual(dataA);
    await cache.add(c, dataC);
    expect(readdirSync(folder).toSorted()).toEqual([a, c].toSorted());
    expect(cache.bytes).toBe(200);
    const reopened = makeCache(folder, 250);
    expect(reopened.bytes).toBe(200);
    expect(await reopened.read(b)).toBeUndefined();
    expect(await reopened.read(c)).toEqual(dataC);
  });
});
