import { randomUUID } from "node:crypto";
import type { WorkerFigures } from "@outrider/contract/worker";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readConfig } from "../src/config.ts";
import { startServer } from "../src/main.ts";
import { type TestServer, testServer } from "./server.ts";

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

const figures: WorkerFigures = {
  slots_used: 2,
  sandboxes: 3,
  memory_bytes: 1_000,
  heap_bytes: 400,
  cpu_seconds: 1.5,
  disk_free_bytes: { data: 10, sandboxes: 20 },
  cache_bytes: { bases: 30, mirrors: 40 },
  errors: { sandbox: 1, model_retry: 5 },
  log_lines: { warn: 6, error: 7 },
};

const newWorker = (name: string) => ({ worker_id: randomUUID(), name, version: "1.2", slots: 4 });
const beat = (worker: object, more: object = {}) =>
  server.call("POST", "/worker/heartbeat", { key, body: { worker, executions: [], ...more } });

/** Every sample that names the worker, without its id. */
async function samplesOf({ worker_id }: { worker_id: string }, origin = server.origin): Promise<string[]> {
  const { text } = await server.call("GET", `${origin}/metrics`);
  return text
    .split("\n")
    .filter((line) => line.includes(worker_id))
    .map((line) => line.replace("outrider_worker_", "").replace(/worker="[^"]+",?/, ""));
}

test("what a heartbeat says of its worker is shown by every server", async () => {
  const worker = newWorker("a");
  const { body } = await beat(worker, { figures });
  expect(body).toEqual({ held: [], draining: false, takes_figures: true });
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
    ...["sandbox 1", "model 0", "model_retry 5", "server_retry 0", "execution 0", "build 0"]
      .map((one) => one.split(" "))
      .map(([kind, count]) => `errors_total{kind="${kind}"} ${count}`),
    'log_lines_total{level="warn"} 6',
    'log_lines_total{level="error"} 7',
  ];
  for (const origin of [server.origin, other.origin])
    expect((await samplesOf(worker, origin)).sort()).toEqual(shown.sort());
});

test("the list of workers says how much room the fullest of its disks has", async () => {
  const [known, unknown] = [newWorker("i"), newWorker("j")];
  await beat(known, { figures });
  await beat(unknown);
  const { workers } = (await server.call("GET", "/workers")).body as { workers: { worker_id: string }[] };
  const find = ({ worker_id }: { worker_id: string }) => workers.find((one) => one.worker_id === worker_id);
  expect(find(known)).toMatchObject({ disk_free_bytes: 10 });
  expect(find(unknown)).not.toHaveProperty("disk_free_bytes");
});

test("a heartbeat without figures leaves those from before, and a second scrape does not add them up", async () => {
  const worker = newWorker("b");
  await beat(worker, { figures });
  await beat(worker);
  await samplesOf(worker);
  const samples = await samplesOf(worker);
  expect(samples).toContain("cpu_seconds_total{} 1.5");
  expect(samples).toContain('errors_total{kind="model_retry"} 5');
});

test("a worker of the version before is shown with its name and version alone", async () => {
  const worker = newWorker("c");
  expect((await beat(worker)).status).toBe(200);
  expect(await samplesOf(worker)).toEqual(['info{name="c",version="1.2"} 1']);
});

test("figures that a later version adds are left out, and cost no heartbeat", async () => {
  const worker = newWorker("d");
  const later = { ...figures, warp: 9, errors: { ...figures.errors, warp: 9 }, disk_free_bytes: { warp: 9 } };
  expect((await beat(worker, { figures: later })).status).toBe(200);
  const samples = await samplesOf(worker);
  expect(samples).toContain("slots_used{} 2");
  expect(samples.join("\n")).not.toMatch(/warp|folder/);
  const [row] =
    await server.db`select figures::text as text from workers where worker_id = ${worker.worker_id}`;
  expect(row?.text).not.toContain("warp");
});

test("a draining worker has no free slots", async () => {
  const worker = newWorker("e");
  await beat(worker, { figures });
  expect((await server.call("POST", `/workers/${worker.worker_id}/drain`)).status).toBe(200);
  const samples = await samplesOf(worker);
  expect(samples).toContain("slots_used{} 2");
  expect(samples).toContain("slots_free{} 0");
});

test("nor has one whose disk is short of space", async () => {
  const worker = newWorker("k");
  await beat(worker, { figures: { ...figures, takes_work: false } });
  expect(await samplesOf(worker)).toContain("slots_free{} 0");
});

test("figures that are old are not shown, though the worker lives", async () => {
  const worker = newWorker("f");
  await beat(worker, { figures });
  await server.db`update workers set figures_at = figures_at - interval '2 minutes' where worker_id = ${worker.worker_id}`;
  expect(await samplesOf(worker)).toEqual(['info{name="f",version="1.2"} 1']);
  await beat(worker, { figures });
  expect(await samplesOf(worker)).toContain("slots_used{} 2");
});

test("a worker that is gone leaves no label behind", async () => {
  const worker = newWorker("g");
  await beat(worker, { figures });
  expect(await samplesOf(worker)).not.toEqual([]);
  await server.db`update workers set last_seen_at = last_seen_at - interval '1 minute' where worker_id = ${worker.worker_id}`;
  await vi.waitFor(async () => expect(await samplesOf(worker)).toEqual([]));
});

test("a name that would break the format is written so that it does not", async () => {
  const worker = newWorker('quote " slash \\ here');
  await beat(worker);
  expect(await samplesOf(worker)).toEqual(['info{name="quote \\" slash \\\\ here",version="1.2"} 1']);
});

test.each([
  ["a negative count", { ...figures, sandboxes: -1 }, "figures/sandboxes"],
  ["a missing member", { ...figures, sandboxes: undefined }, "figures/sandboxes"],
  ["a word for a number", { ...figures, memory_bytes: "much" }, "figures/memory_bytes"],
])("figures with %s are refused", async (_, bad, place) => {
  const { status, text } = await beat(newWorker("h"), { figures: bad });
  expect(status).toBe(400);
  expect(text).toContain(place);
});
