import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  longSleep,
  processesWith,
  waitForSleep,
  watchdogPidOf,
  watchdogPids,
} from "../packages/worker/test/installation.ts";
import { waitOptions } from "../scripts/tests/wait-options.ts";
import {
  call,
  expectNothingOn,
  keyOf,
  makeDataDir,
  outrider,
  processesOn,
  type Running,
  removeDataDir,
  run,
  type Serving,
  serve,
} from "./process.ts";

/** Tests `bin/outrider serve` from the outside and offline: the server, its database, its worker and a first run. */

// Shorter leases than the default, so that runs of a killed server recover soon.
const environment = {
  OUTRIDER_LEASE_SECONDS: "12",
  OUTRIDER_LEASE_GRACE_SECONDS: "1",
  OUTRIDER_MASTER_KEY: Buffer.alloc(32, "outrider").toString("base64"),
  OUTRIDER_WORKER_SLOTS: "12",
};
// Starts and recoveries are slow on a busy machine.
let dataDir: string;
let server: Serving;

beforeAll(async () => {
  dataDir = makeDataDir();
  server = await serve({ dataDir, environment });
});
afterAll(async () => {
  await server.end("SIGTERM");
  removeDataDir(dataDir);
});

const api = async (method: string, path: string, body?: unknown) =>
  call(method, `${server.origin}/api/v1${path}`, { key: keyOf(dataDir), body });

async function create(prompt: string): Promise<string> {
  const { status, body } = await api("POST", "/agent/run", { prompt });
  expect(status).toBe(200);
  return body.run_id;
}

const waitForState = (runId: string, state: string) =>
  vi.waitFor(async () => {
    const { body } = await api("GET", `/agent/runs/${runId}`);
    expect(body).toMatchObject({ state });
    return body;
  }, waitOptions);

const read = async (url: string, accept: string) =>
  fetch(url, { headers: { authorization: `Bearer ${keyOf(dataDir)}`, accept } });

test("the local worker inherits worker settings, but no server secrets", async () => {
  const worker = await vi.waitUntil(
    () => processesOn(dataDir).find((line) => line.includes(" worker --server ")),
    waitOptions,
  );
  const inherited = readFileSync(`/proc/${Number.parseInt(worker, 10)}/environ`, "latin1");
  expect(inherited).toContain("OUTRIDER_WORKER_SLOTS=12");
  expect(inherited).not.toContain("OUTRIDER_MASTER_KEY");
});

interface ListedWorker {
  worker_id: string;
  name: string;
  is_alive: boolean;
  draining: boolean;
}
const workers = async (): Promise<ListedWorker[]> => (await api("GET", "/workers")).body.workers;
const waitForWorker = (name: string) =>
  vi.waitUntil(
    async () => (await workers()).find((worker) => worker.name === name && worker.is_alive),
    waitOptions,
  );

/** Waits for the local worker of the server and returns its pid. */
const waitForLocalWorker = () =>
  vi.waitUntil(() => {
    const line = processesOn(dataDir).find((process) => process.includes("--name local-1"));
    return line ? Number.parseInt(line, 10) : undefined;
  }, waitOptions);

describe("the first start", () => {
  test("prints the number of workers", async () => {
    expect(server.stderr()).toContain("  workers    1 on this machine");
    await waitForWorker("local-1");
  });

  test("executes the first run and shows its events and transcript", async () => {
    const { body } = await call("POST", `${server.origin}/api/v1/agent/run`, {
      key: keyOf(dataDir),
      headers: { "idempotency-key": "my-first-run" },
      body: { prompt: "SAY: hello\nRUN: echo from a sandbox\nSAY: done", config: { name: "first" } },
    });
    expect(body).toMatchObject({ state: "QUEUED" });
    const { run_id } = body;

    const stream = await read(`${server.origin}/api/v1/agent/runs/${run_id}/events`, "text/event-stream");
    const streamed = (await stream.text())
      .split("\n\n")
      .map((block) => block.split("\n").find((line) => line.startsWith("data: ")))
      .flatMap((line) => (line ? [JSON.parse(line.slice("data: ".length))] : []))
      .filter(({ seq }) => seq !== undefined);
    expect(streamed.map(({ seq }) => seq)).toEqual(streamed.map((_, index) => index + 1));
    expect(streamed.at(-1)).toMatchObject({ type: "run.succeeded", data: { text: "done" } });

    const item = await waitForState(run_id, "SUCCEEDED");
    expect(item).toMatchObject({ agent_config: { name: "first", model_id: "scripted" }, attempts: 1 });
    const link: string = item.session_link;
    expect(link).toMatch(new RegExp(`^${server.origin}/`));
    const markdown = await read(link, "text/markdown");
    expect(markdown.headers.get("content-type")).toMatch(/^text\/markdown/);
    expect(await markdown.text()).toMatch(/hello[\s\S]*echo from a sandbox[\s\S]*done/);
    const json = await read(link, "application/json");
    expect(await json.json()).toMatchObject({ run: { run_id, state: "SUCCEEDED" }, events: streamed });
    const lines = (await (await read(link, "application/x-ndjson")).text()).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(streamed);
  });
});

describe("a second worker", () => {
  let second: Running | undefined;
  afterAll(async () => {
    await second?.end("SIGTERM");
  });

  test("joins with its own key, and takes over new runs from a draining worker", async () => {
    const { key } = (await api("POST", "/keys", { name: "second", type: "worker" })).body;
    const folder = join(dataDir, "second");
    mkdirSync(folder, { mode: 0o711 });
    const args = ["worker", "--server", server.origin, "--name", "second", "--data-dir", folder];
    second = run(args, { OUTRIDER_WORKER_KEY: key });
    await second.waitForOutput("ready for runs");
    await waitForWorker("second");
    const local = await waitForWorker("local-1");
    expect((await workers()).filter(({ is_alive }) => is_alive)).toHaveLength(2);

    const drained = await api("POST", `/workers/${local.worker_id}/drain`);
    expect(drained.body).toMatchObject({ worker_id: local.worker_id, name: "local-1", draining: true });
    const ids = await Promise.all([1, 2, 3].map((number) => create(`SAY: ${number}`)));
    for (const id of ids) {
      await waitForState(id, "SUCCEEDED");
      const { events } = (await api("GET", `/agent/runs/${id}/events`)).body;
      expect(events[1]).toMatchObject({ type: "run.claimed", data: { worker: "second" } });
    }
    expect(await second.end("SIGTERM")).toEqual({ code: 0, signal: null });
    second = undefined;
  });

  test("reports a missing key", async () => {
    const { code, stderr } = await outrider(["worker", "--server", server.origin]);
    expect(code).toBe(1);
    expect(stderr).toContain("OUTRIDER_WORKER_KEY is not set");
  });
});

describe("a server that is killed", () => {
  test("stops its worker too, and the next start resumes the run", async () => {
    // The previous test drained the worker. A restart replaces it.
    await server.end("SIGTERM");
    server = await serve({ dataDir, environment });
    const worker = await waitForLocalWorker();
    const { command, mark } = longSleep();
    const id = await create(`RUN: ${command}`);
    await waitForSleep(mark);
    const watchdogPid = watchdogPidOf(worker);

    await server.end("SIGKILL");
    await vi.waitFor(() => {
      const remaining = processesOn(dataDir).filter((line) => !/postgres/.test(line));
      expect([...remaining, ...processesWith(mark)]).toEqual([]);
      expect(watchdogPids()).not.toContain(watchdogPid);
    }, waitOptions);

    server = await serve({ dataDir, environment });
    await vi.waitFor(async () => {
      expect((await api("GET", `/agent/runs/${id}`)).body).toMatchObject({ attempts: 2, phase: "working" });
    }, waitOptions);
    await api("POST", `/agent/runs/${id}/followups`, { message: "SAY: enough", mode: "interrupt" });
    expect(await waitForState(id, "SUCCEEDED")).toMatchObject({ attempts: 2, turns: 1 });
  });
});

describe("SIGTERM", () => {
  test("stops the server, database, worker, watchdog and sandboxes", async () => {
    const watchdogPid = watchdogPidOf(await waitForLocalWorker());
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
    await expectNothingOn(dataDir);
    expect(watchdogPids()).not.toContain(watchdogPid);
  });
});
