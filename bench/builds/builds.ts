import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createWriteStream, mkdtempSync } from "node:fs";
import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { ChunkCache } from "../../packages/worker/src/builds/chunks/chunk-cache.ts";
import { type ChunkList, parseChunkList } from "../../packages/worker/src/builds/chunks/chunk-list.ts";
import { fetchArchive } from "../../packages/worker/src/builds/chunks/fetch-chunks.ts";
import { storeArchive } from "../../packages/worker/src/builds/chunks/store-chunks.ts";
import { HashingStream } from "../../packages/worker/src/hashing-stream.ts";
import { connectToServer, type ServerClient } from "../../packages/worker/src/server-client/server-client.ts";
import { type BenchResult, checkLimit, compare, type Sample } from "../support/compare.ts";
import { type Outrider, post, startOutrider } from "../support/start-outrider.ts";

/**
 * Measures how the files of a build are stored and fetched. The speed of storing them on a server is compared with one
 * gzip archive that is uploaded when it is complete. A second build differs from the first in one file, and in the
 * times of all files. What it uploads, and what a worker fetches that has the first build, is the same in every round.
 */

const FILES = 1_500;
const FILE_BYTES = 40_000;
/** Part of the first build's bytes. */
const MAX_DIFFERENCE = 0.05;
const signal = new AbortController().signal;

export async function benchBuilds(only?: string): Promise<BenchResult[]> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "outrider-bench-builds-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const outrider = stack.use(await startOutrider());
  const { key } = await post<{ key: string }>(outrider, "/keys", { name: "bench", type: "worker" });
  const server = connectToServer({ url: outrider.origin, key });
  stack.defer(() => server.stop());
  const store = await openStore(outrider, server, folder);
  return [
    ...(only === undefined || only === "store" ? [await benchStore(store, folder, server)] : []),
    ...(only === undefined || only === "difference" ? await benchDifference(store, folder, server) : []),
  ];
}

type Store = (files: string) => Promise<{ bytes: number; list: ChunkList; buildId: string }>;

/** Returns a function that stores a folder as a new build, and returns how many bytes were sent. */
async function openStore(outrider: Outrider, server: ServerClient, folder: string): Promise<Store> {
  const body = { name: "bench", setup_commands: ["true"] };
  const { environment_id } = await post<{ environment_id: string }>(outrider, "/agent/environments", body);
  const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };
  const cache = new ChunkCache({ folder: join(folder, "builder"), maxBytes: 2 ** 33, log: console });
  return async (files) => {
    await post(outrider, `/agent/environments/${environment_id}/builds`, {});
    const claim = { request_id: randomUUID(), worker, free: 1, wait_ms: 30_000 };
    const [build] = (await server.claim(claim, signal)).builds;
    if (!build) throw new Error("The server has no build for this worker.");
    const { build_id: buildId, token } = build;
    let bytes = 0;
    const counting: ServerClient = {
      ...server,
      putBlob: async (content, ...rest) => {
        bytes += content.length;
        await server.putBlob(content, ...rest);
      },
    };
    const options = { server: counting, buildId, token, cache, signal };
    const { message, ...stored } = await storeArchive(pack(files), options);
    const outcome = { type: "ready" as const, key: "0".repeat(64), repositories: [], ...stored };
    await server.finishBuild(buildId, { token, batch: 1, events: [], outcome }, signal);
    const list = parseChunkList(await buffer(await server.getBlob(stored.sha256, signal)));
    return { bytes, list, buildId };
  };
}

async function benchStore(store: Store, folder: string, server: ServerClient): Promise<BenchResult> {
  let round = 0;
  const sample = async (measure: () => Promise<unknown>): Promise<Sample> => {
    const start = performance.now();
    await measure();
    return { perSecond: (FILES * FILE_BYTES) / 2 ** 20 / ((performance.now() - start) / 1_000) };
  };
  return await compare({
    name: "store a build (MiB)",
    limit: 1.2,
    // Each round has other contents, because nothing would be uploaded otherwise.
    subject: async () => {
      const files = await makeFiles(join(folder, "subject"), ++round);
      return await sample(() => store(files));
    },
    baseline: async () => {
      const files = await makeFiles(join(folder, "baseline"), 0);
      return await sample(() => storeGzip(files, join(folder, "archive"), server));
    },
  });
}

async function storeGzip(files: string, archive: string, server: ServerClient): Promise<void> {
  const hashing = new HashingStream();
  await pipeline(pack(files), createGzip(), hashing, createWriteStream(archive));
  await server.putBlob(archive, hashing.result().sha256, signal);
}

async function benchDifference(store: Store, folder: string, server: ServerClient): Promise<BenchResult[]> {
  const files = await makeFiles(join(folder, "difference"), 1_000);
  const cache = new ChunkCache({ folder: join(folder, "fetcher"), maxBytes: 2 ** 33, log: console });
  const fetchBuild = async ({ list, buildId }: Awaited<ReturnType<Store>>) => {
    let bytes = 0;
    const onFetched = ({ storedBytes }: { storedBytes: number }) => {
      bytes += storedBytes;
    };
    for await (const _ of fetchArchive(list, { server, cache, buildId, signal, onFetched }));
    return bytes;
  };
  const first = await store(files);
  const firstFetched = await fetchBuild(first);
  await writeFile(join(files, "700"), textOf(5_000, FILE_BYTES));
  const now = new Date();
  for (const name of await readdir(files)) await utimes(join(files, name), now, now);
  const second = await store(files);
  const secondFetched = await fetchBuild(second);
  const check = (name: string, before: number, after: number) =>
    checkLimit({ name, measured: [after / 2 ** 20], max: (before * MAX_DIFFERENCE) / 2 ** 20, unit: "MiB" });
  return [
    check("upload of a build with one changed file", first.bytes, second.bytes),
    check("download of a build with one changed file", firstFetched, secondFetched),
  ];
}

function pack(folder: string): Readable {
  return spawn("tar", ["--format=pax", "--sort=name", "-C", folder, "-cf", "-", "."]).stdout;
}

/** Writes the same files for the same seed. */
async function makeFiles(folder: string, seed: number): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  for (let at = 0; at < FILES; at++)
    await writeFile(join(folder, String(at)), textOf(seed * FILES + at + 1, FILE_BYTES));
  return folder;
}

const words = Array.from({ length: 2_048 }, (_, at) =>
  (at * 2_654_435_761).toString(36).slice(0, 2 + (at % 9)),
);

/** Returns text of pseudo-random words, which compresses like source code. */
function textOf(seed: number, bytes: number): string {
  let text = "";
  for (let state = seed; text.length < bytes; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    text += `${words[state >>> 21]} `;
  }
  return text.slice(0, bytes);
}
