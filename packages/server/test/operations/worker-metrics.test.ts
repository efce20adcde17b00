import { randomUUID } from "node:crypto";
import type { WorkerStats } from "@outrider/contract/worker";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { readConfig } from "../../src/config.ts";
import { startServer } from "../../src/main.ts";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let other: Awaited<ReturnType<typeof startServer>>;
let key: string;
beforeAll(async () => {
  server = await testServer();
  const settings = { OUTRIDER_DATA_DIR: server.dataDir, OUTRIDER_PORT: "0", OUTRIDER_LOG_LEVEL: "silent" };
  other = await startServer(readConfig({}, { DATABASE_URL: server.databaseUrl, ...settings }));
  key = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
});
afterAll(async () => {
  await other?.stop();
  await server.stop();
});

const stats: WorkerStats = {
  slots_used: 2,
  sandboxes: 3,
  memory_bytes: 1_000,
  heap_bytes: 400,
  cpu_seconds: 1.5,
  sandbox: "local",
  disk_free_bytes: { data: 10, sandboxes: 20 },
  cache_bytes: { bases: 30, mirrors: 40 },
  errors: { sandbox: 1, model_retry: 5 },
  log_lines: { warn: 6, error: 7 },
};

const newWorker = (name: string) => ({ worker_id: randomUUID(), name, version: "1.2", slots: 4 });
const beat = (worker: object, more: object = {}) =>
  server.call("POST", "/worker/heartbeat", { key, body: { worker, executions: [], ...more } });

/** Returns every sample of the worker, without its ID. */
async function samplesOf({ worker_id }: { worker_id: string }, origin = server.origin): Promise<string[]> {
  const { text } = await server.call("GET", `${origin}/metrics`);
  return text
    .split("\n")
    .filter((line) => line.includes(worker_id))
    .map((line) => line.replace("outrider_worker_", "").replace(/worker="[^"]+",?/, ""));
}

test("every server shows the stats of a heartbeat", async () => {
  const worker = newWorker("a");
  const { body } = await beat(worker, { stats });
  expect(body).toEqual({ held: [], draining: false, takes_stats: true });
  const shown = [
    'info{name="a",version="1.2"} 1',
    "slots_used{} 2",
    "slots_free{} 2",
    "sandboxes{} 3",
    "memory_bytes{} 1000",
    "heap_bytes{} 400",
    'disk_free_bytes{folder="data"} 10',
    'disk_free_bytes{folder="sandboxes"} 20',
    'cache_bytes{cache="bases"} 30',
    'cache_bytes{cache="mirrors"} 40',
    "cpu_seconds_total{} 1.5",
    ...["sandbox 1", "model 0", "model_retry 5", "server_retry 0", "execution 0", "build 0", "stall 0"]
      .map((one) => one.split(" "))
      .map(([kind, count]) => `errors_total{kind="${kind}"} ${count}`),
    'log_lines_total{level="warn"} 6',
    'log_lines_total{level="error"} 7',
  ];
  for (const origin of [server.origin, other.origin])
    expect((await samplesOf(worker, origin)).sort()).toEqual(shown.sort());
});

test("the list of workers shows the free space of the fullest disk", async () => {
  const [known, unknown] = [newWorker("i"), newWorker("j")];
  await beat(known, { stats });
  await beat(unknown);
  const { workers } = (await server.call("GET", "/workers")).body as { workers: { worker_id: string }[] };
  const find = ({ worker_id }: { worker_id: string }) => workers.find((one) => one.worker_id === worker_id);
  expect(find(known)).toMatchObject({ disk_free_bytes: 10, sandbox: "local" });
  expect(find(unknown)).not.toHaveProperty("disk_free_bytes");
  expect(find(unknown)).not.toHaveProperty("sandbox");
});

test("a heartbeat without stats keeps the previous ones, and a second scrape does not add them up", async () => {
  const worker = newWorker("b");
  await beat(worker, { stats });
  await beat(worker);
  await samplesOf(worker);
  const samples = await samplesOf(worker);
  expect(samples).toContain("cpu_seconds_total{} 1.5");
  expect(samples).toContain('errors_total{kind="model_retry"} 5');
});

test("a worker of the previous version is shown with only its name and version", async () => {
  const worker = newWorker("c");
  expect((await beat(worker)).status).toBe(200);
  expect(await samplesOf(worker)).toEqual(['info{name="c",version="1.2"} 1']);
});

test("ignores unknown stats of a later version", async () => {
  const worker = newWorker("d");
  const later = { ...stats, warp: 9, errors: { ...stats.errors, warp: 9 }, disk_free_bytes: { warp: 9 } };
  expect((await beat(worker, { stats: later })).status).toBe(200);
  const samples = await samplesOf(worker);
  expect(samples).toContain("slots_used{} 2");
  expect(samples.join("\n")).not.toMatch(/warp|folder/);
  const [row] =
    await server.db`select stats::text as text from workers where worker_id = ${worker.worker_id}`;
  expect(row?.text).not.toContain("warp");
});

test("a draining worker has no free slots", async () => {
  const worker = newWorker("e");
  await beat(worker, { stats });
  expect((await server.call("POST", `/workers/${worker.worker_id}/drain`)).status).toBe(200);
  const samples = await samplesOf(worker);
  expect(samples).toContain("slots_used{} 2");
  expect(samples).toContain("slots_free{} 0");
});

test("a worker with low disk space has no free slots", async () => {
  const worker = newWorker("k");
  await beat(worker, { stats: { ...stats, accepts_runs: false } });
  expect(await samplesOf(worker)).toContain("slots_free{} 0");
});

test("does not show outdated stats of a live worker", async () => {
  const worker = newWorker("f");
  await beat(worker, { stats });
  await server.db`update workers set stats_at = stats_at - interval '2 minutes' where worker_id = ${worker.worker_id}`;
  expect(await samplesOf(worker)).toEqual(['info{name="f",version="1.2"} 1']);
  await beat(worker, { stats });
  expect(await samplesOf(worker)).toContain("slots_used{} 2");
});

test("a stopped worker leaves no label behind", async () => {
  const worker = newWorker("g");
  await beat(worker, { stats });
  expect(await samplesOf(worker)).not.toEqual([]);
  await server.db`update workers set last_seen_at = last_seen_at - interval '1 minute' where worker_id = ${worker.worker_id}`;
  await vi.waitFor(async () => expect(await samplesOf(worker)).toEqual([]), waitOptions);
});

test("escapes a name that would break the format", async () => {
  const worker = newWorker('quote " slash \\ here');
  await beat(worker);
  expect(await samplesOf(worker)).toEqual(['info{name="quote \\" slash \\\\ here",version="1.2"} 1']);
});

test.each([
  ["a negative count", { ...stats, sandboxes: -1 }, "stats/sandboxes"],
  ["a missing member", { ...stats, sandboxes: undefined }, "stats/sandboxes"],
  ["a word for a number", { ...stats, memory_bytes: "much" }, "stats/memory_bytes"],
])("rejects stats with %s", async (_, bad, place) => {
  const { status, text } = await beat(newWorker("h"), { stats: bad });
  expect(status).toBe(400);
  expect(text).toContain(place);
});
