import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { type StubModel, startStubModel } from "../../agent/test/stub-model/server.ts";
import { hasProfile } from "../src/harnesses/acp/profiles.ts";
import { findPinnedHarness } from "../src/harnesses/install/pinned-harnesses.ts";
import type { Worker } from "../src/worker.ts";
import { startProxy, startTestInstallation, type TestInstallation } from "./installation.ts";

const apiKey = "sk-of-the-model-0123456789";
/** A worker sends six heartbeats per lease. */
const settings = { OUTRIDER_LEASE_SECONDS: "12" };

let installation: TestInstallation;
let stub: StubModel;
const closers: (() => unknown)[] = [];
beforeEach(async () => {
  stub = await startStubModel({ apiKey });
  closers.push(() => stub.close());
  const folder = mkdtempSync(join(tmpdir(), "outrider-models-"));
  closers.push(() => rmSync(folder, { recursive: true }));
  const house = { type: "openai-compatible", base_url: stub.baseUrl("chat"), api_key: apiKey };
  const models = join(folder, "models.json");
  writeFileSync(models, JSON.stringify({ default_model_id: "scripted", providers: { house } }));
  installation = await startTestInstallation({ ...settings, OUTRIDER_MODELS: models });
});
afterEach(async () => {
  await installation.stop();
  for (const close of closers.splice(0)) await close();
});

/** Scrapes the metrics of a worker, by name and labels. */
async function scrapeStats({ workerId }: Worker): Promise<Record<string, number>> {
  const { text } = await installation.call("GET", `${installation.origin}/metrics`);
  const lines = text.split("\n").filter((line) => line.includes(workerId));
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", labels = "", value] = /^outrider_worker_(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
      const others = [...labels.matchAll(/(\w+)="([^"]*)"/g)].filter(([, label]) => label !== "worker");
      return [[name, ...others.map(([, , of]) => of)].join(" "), Number(value)];
    }),
  );
}

const until = (worker: Worker, condition: (stats: Record<string, number>) => boolean) =>
  vi.waitUntil(async () => {
    const stats = await scrapeStats(worker);
    return condition(stats) ? stats : undefined;
  }, waitOptions);

test("a worker reports slots, sandboxes, memory, CPU and disk stats", async () => {
  const worker = await installation.worker({ slots: 3, version: "7.8" });
  const run = await installation.create(["RUN: echo kept > file", "SLEEP: 60000"], {
    config: { idle_timeout_minutes: 5 },
  });
  const busy = await until(worker, (stats) => stats.sandboxes === 1);
  expect(busy).toMatchObject({
    slots_used: 1,
    slots_free: 2,
    "info worker-1 7.8": 1,
    "errors_total model": 0,
  });
  expect(busy.memory_bytes).toBeGreaterThan(2 ** 20);
  expect(busy.heap_bytes).toBeGreaterThan(2 ** 20);
  expect(busy.cpu_seconds_total).toBeGreaterThan(0);
  for (const folder of ["data", "sandboxes", "repositories"])
    expect(busy[`disk_free_bytes ${folder}`]).toBeGreaterThan(2 ** 20);
  expect(busy["cache_bytes bases"]).toBe(0);
  const { body } = await installation.call("GET", "/workers");
  expect(body.workers).toMatchObject([{ worker_id: worker.workerId, sandbox: "local" }]);
  await installation.call("POST", `/agent/runs/${run}/cancel`);
  await until(worker, (stats) => stats.slots_used === 0 && stats.slots_free === 3);
});

test("a worker reports which agents are installed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "outrider-agents-"));
  closers.push(() => rmSync(folder, { recursive: true }));
  const reported = async () => {
    const [row] = await installation.db`select stats -> 'harnesses' as harnesses from workers`;
    return row?.harnesses as { name: string; problem?: string }[] | undefined;
  };
  const worker = await installation.worker();
  const harnesses = await vi.waitUntil(reported, waitOptions);
  const { version } = findPinnedHarness("claude") ?? {};
  expect(harnesses.find(({ name }) => name === "claude")).toEqual({
    name: "claude",
    version,
    installed: true,
  });
  for (const { name, problem } of harnesses)
    expect(problem === "workers of this version cannot execute it", name).toBe(!hasProfile(name));
  await worker.drain();
  await installation.db`delete from workers`;
  await installation.worker({ harnessFolder: folder });
  expect((await vi.waitUntil(reported, waitOptions)).find(({ name }) => name === "claude")).toEqual({
    ...{ name: "claude", version, installed: false },
    problem: "OUTRIDER_HARNESS_FOLDER does not contain it",
  });
});

test("the cache size includes builds", async () => {
  const worker = await installation.worker();
  const environment = { name: "prepared", setup_commands: ["head -c 3000000 /dev/zero > large"] };
  const { environment_id } = (await installation.call("POST", "/agent/environments", { body: environment }))
    .body;
  const run = await installation.create(["SLEEP: 60000"], { config: { environment_id } });
  await until(worker, (stats) => (stats["cache_bytes bases"] ?? 0) > 3_000_000);
  await installation.call("POST", `/agent/runs/${run}/cancel`);
});

test("model retries and model failures are counted", async () => {
  stub.fail({ type: "status", status: 503 }, { type: "status", status: 400 });
  const worker = await installation.worker();
  const run = await installation.create(["SAY: hello"], { config: { model_id: "house/stub" } });
  await installation.until(run, "FAILED");
  const stats = await until(worker, (all) => all["errors_total model"] === 1);
  expect(stats["errors_total model_retry"]).toBe(1);
});

test("failures to open a sandbox are counted", async () => {
  const worker = await installation.worker();
  const folder = join(
    installation.workersFolder,
    readdirSync(installation.workersFolder)[0] as string,
    "sandboxes",
  );
  renameSync(folder, `${folder}.away`);
  const run = await installation.create(["RUN: true"]);
  const stats = await until(worker, (all) => (all["errors_total sandbox"] ?? 0) > 0);
  // Stats that cannot be read for the same reason are omitted.
  expect(stats).not.toHaveProperty("cache_bytes bases");
  expect(stats["cache_bytes mirrors"]).toBe(0);
  renameSync(`${folder}.away`, folder);
  await installation.call("POST", `/agent/runs/${run}/cancel`);
});

test("retried server calls are counted", async () => {
  const proxy = await startProxy(installation.origin);
  closers.push(() => proxy.stop());
  let left = 3;
  proxy.isLost = (called) => called.endsWith("/report") && left-- > 0;
  const worker = await installation.worker({ url: proxy.url });
  const run = await installation.create(["RUN: echo one", "RUN: echo two"]);
  await installation.until(run, "SUCCEEDED");
  const stats = await until(worker, (all) => (all["errors_total server_retry"] ?? 0) >= 3);
  expect(stats["errors_total execution"]).toBe(0);
});

/** A proxy that rejects unknown fields in heartbeats, as a server of the previous version does. */
async function startStrictProxy(origin: string) {
  const strict = { url: "", refused: 0, heartbeats: 0 };
  const front = createServer(async (incoming, response) => {
    const body = await buffer(incoming);
    const isHeartbeat = incoming.url?.endsWith("/heartbeat");
    if (isHeartbeat) strict.heartbeats++;
    if (isHeartbeat && "stats" in JSON.parse(body.toString())) {
      strict.refused++;
      response.writeHead(400).end(JSON.stringify({ detail: "`stats` is unknown" }));
      return;
    }
    const { method, headers, url } = incoming;
    const outgoing = request(`${origin}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    outgoing.end(body);
  }).listen(0, "127.0.0.1");
  await vi.waitUntil(() => front.listening, waitOptions);
  strict.url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  closers.push(() => front.close().closeAllConnections());
  return strict;
}

describe("a worker with servers of the previous version", () => {
  test("keeps its leases whichever server responds to a heartbeat", async () => {
    const strict = await startStrictProxy(installation.origin);
    await installation.worker({ url: strict.url });
    const run = await installation.create(["SLEEP: 100000", "SAY: done"]);
    // Long enough for the lease to expire if heartbeats did not renew it.
    await vi.waitUntil(() => strict.refused > 2, waitOptions);
    expect(await installation.get(run)).toMatchObject({ state: "INPROGRESS", attempts: 1 });
    // One with stats, its retry without them, and one without stats.
    expect(strict.heartbeats).toBeGreaterThanOrEqual(3 * strict.refused - 1);
  });
});
