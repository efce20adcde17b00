import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type StubModel, startStubModel } from "../../agent/test/stub-model/server.ts";
import type { Worker } from "../src/worker.ts";
import { patience, startProxy, startWorld, type World } from "./world.ts";

const apiKey = "sk-of-the-model-0123456789";
/** Heartbeats come six times in a lease. */
const settings = { OUTRIDER_LEASE_SECONDS: "3" };

let world: World;
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
  world = await startWorld({ ...settings, OUTRIDER_MODELS: models });
});
afterEach(async () => {
  await world.stop();
  for (const close of closers.splice(0)) await close();
});

/** What a scrape says of the worker, by name and labels. */
async function figuresOf({ workerId }: Worker): Promise<Record<string, number>> {
  const { text } = await world.call("GET", `${world.origin}/metrics`);
  const lines = text.split("\n").filter((line) => line.includes(workerId));
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", labels = "", value] = /^outrider_worker_(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
      const others = [...labels.matchAll(/(\w+)="([^"]*)"/g)].filter(([, label]) => label !== "worker");
      return [[name, ...others.map(([, , of]) => of)].join(" "), Number(value)];
    }),
  );
}

const until = (worker: Worker, holds: (figures: Record<string, number>) => boolean) =>
  vi.waitUntil(async () => {
    const figures = await figuresOf(worker);
    return holds(figures) ? figures : undefined;
  }, patience);

test("a worker tells how it fares: slots, sandboxes, memory, processor, disks", async () => {
  const worker = await world.worker({ slots: 3, version: "7.8" });
  const run = await world.create(["RUN: echo kept > file", "SLEEP: 60000"], {
    config: { idle_timeout_minutes: 5 },
  });
  const busy = await until(worker, (figures) => figures.sandboxes === 1);
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
  await world.call("POST", `/agent/runs/${run}/cancel`);
  await until(worker, (figures) => figures.slots_used === 0 && figures.slots_free === 3);
});

test("prepared environments are counted among its caches", async () => {
  const worker = await world.worker();
  const environment = { name: "prepared", setup_commands: ["head -c 3000000 /dev/zero > large"] };
  const { environment_id } = (await world.call("POST", "/agent/environments", { body: environment })).body;
  const run = await world.create(["SLEEP: 60000"], { config: { environment_id } });
  await until(worker, (figures) => (figures["cache_bytes bases"] ?? 0) > 3_000_000);
  await world.call("POST", `/agent/runs/${run}/cancel`);
});

test("calls of a model that are tried again, and turns that it ends, are counted", async () => {
  stub.fail({ type: "status", status: 503 }, { type: "status", status: 400 });
  const worker = await world.worker();
  const run = await world.create(["SAY: hello"], { config: { model_id: "house/stub" } });
  await world.until(run, "FAILED");
  const figures = await until(worker, (all) => all["errors_total model"] === 1);
  expect(figures["errors_total model_retry"]).toBe(1);
});

test("a sandbox that cannot be opened is counted", async () => {
  const worker = await world.worker();
  const folder = join(world.workersFolder, readdirSync(world.workersFolder)[0] as string, "sandboxes");
  renameSync(folder, `${folder}.away`);
  const run = await world.create(["RUN: true"]);
  const figures = await until(worker, (all) => (all["errors_total sandbox"] ?? 0) > 0);
  // What cannot be told for the same reason is left out.
  expect(figures).not.toHaveProperty("cache_bytes bases");
  expect(figures["cache_bytes mirrors"]).toBe(0);
  renameSync(`${folder}.away`, folder);
  await world.call("POST", `/agent/runs/${run}/cancel`);
});

test("calls that had to be repeated are counted", async () => {
  const proxy = await startProxy(world.origin);
  closers.push(() => proxy.stop());
  let left = 3;
  proxy.isLost = (called) => called.endsWith("/report") && left-- > 0;
  const worker = await world.worker({ url: proxy.url });
  const run = await world.create(["RUN: echo one", "RUN: echo two"]);
  await world.until(run, "SUCCEEDED");
  const figures = await until(worker, (all) => (all["errors_total server_retry"] ?? 0) >= 3);
  expect(figures["errors_total execution"]).toBe(0);
});

/** The real server behind one that reads heartbeats as the version before does: what it does not know, it refuses. */
async function startStrict(origin: string) {
  const strict = { url: "", refused: 0, told: 0 };
  const front = createServer(async (incoming, response) => {
    const body = await buffer(incoming);
    const isHeartbeat = incoming.url?.endsWith("/heartbeat");
    if (isHeartbeat) strict.told++;
    if (isHeartbeat && "figures" in JSON.parse(body.toString())) {
      strict.refused++;
      response.writeHead(400).end(JSON.stringify({ detail: "`figures` is not known" }));
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
  await vi.waitUntil(() => front.listening);
  strict.url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  closers.push(() => front.close().closeAllConnections());
  return strict;
}

describe("a worker among servers of the version before", () => {
  test("keeps its leases, whoever answers a heartbeat", async () => {
    const strict = await startStrict(world.origin);
    await world.worker({ url: strict.url });
    const run = await world.create(["SLEEP: 7000", "SAY: done"]);
    expect(await world.until(run, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    expect(strict.refused).toBeGreaterThan(2);
    // One with figures, the same without them, and one that had none.
    expect(strict.told).toBeGreaterThanOrEqual(3 * strict.refused - 1);
  });
});
