import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../../packages/server/test/server.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { call, keyOf, makeDataDir, type Running, removeDataDir, root, run } from "../process.ts";
import { checkOutPrevious } from "./previous.ts";

/** Runs servers of both versions on one database, and workers of both versions. */
describe("the previous and the current version together", { timeout: 120_000 }, () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let dataDir: string;
  let folder: string;
  let key: string;
  let workerKey: string;
  let early: string;
  const origins = { previous: "", current: "" };
  const running: Running[] = [];
  const masterKey = randomBytes(32).toString("base64");
  type Version = keyof typeof origins;
  const bin = (version: Version) => join(version === "previous" ? folder : root, "bin/outrider");

  async function startServer(version: Version) {
    const environment = {
      DATABASE_URL: database.url,
      OUTRIDER_MASTER_KEY: masterKey,
      OUTRIDER_WORKERS: "0",
      OUTRIDER_LEASE_SECONDS: "6",
      OUTRIDER_LEASE_GRACE_SECONDS: "3",
    };
    const server = run(["serve", "--port", "0", "--data-dir", dataDir], environment, bin(version));
    running.push(server);
    // The two versions print this line in different words.
    await server.waitForOutput(" on http");
    origins[version] = /^Outrider .* on (https?:\S+)/m.exec(server.stderr())?.[1] as string;
    return server;
  }

  async function startWorker(version: Version, at: Version) {
    const folder = join(dataDir, `worker-${version}-${randomBytes(2).toString("hex")}`);
    const args = ["worker", "--server", origins[at], "--name", version, "--data-dir", folder];
    const worker = run(args, { OUTRIDER_WORKER_KEY: workerKey }, bin(version));
    running.push(worker);
    await worker.waitForOutput("ready for runs");
    return worker;
  }

  const request = (at: Version, method: string, path: string, body?: unknown) =>
    call(method, `${origins[at]}/api/v1${path}`, { key, ...(body === undefined ? {} : { body }) });

  async function create(at: Version, prompt: string, config = {}): Promise<string> {
    const created = await request(at, "POST", "/agent/run", { prompt, config });
    expect(created.text).toContain("run_id");
    return created.body.run_id;
  }

  async function waitForEnd(at: Version, runId: string) {
    const readRun = async () => (await request(at, "GET", `/agent/runs/${runId}`)).body;
    await vi.waitUntil(async () => /SUCCEEDED|FAILED/.test((await readRun()).state), waitOptions);
    return readRun();
  }

  beforeAll(async () => {
    folder = checkOutPrevious();
    database = await testDatabase();
    dataDir = makeDataDir();
    await startServer("previous");
    key = keyOf(dataDir);
    workerKey = (await request("previous", "POST", "/keys", { name: "w", type: "worker" })).body.key;
    early = await create("previous", "SAY: early");
    await startServer("current");
  }, 120_000);

  afterAll(async () => {
    // Stops the workers first, while there are servers to which they can return their runs.
    for (const process of running.reverse()) await process.end("SIGTERM");
    await database?.drop();
    if (dataDir) removeDataDir(dataDir);
    if (folder) rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  test("the previous server continues to use the migrated database", async () => {
    const runId = await create("previous", "SAY: hello");
    for (const at of ["previous", "current"] as const) {
      expect((await request(at, "GET", `/agent/runs/${early}`)).body.prompt).toBe("SAY: early");
      const { runs } = (await request(at, "GET", "/agent/runs?q=hello")).body;
      expect(runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual([runId]);
    }
    const message = { message: "SAY: more" };
    expect((await request("previous", "POST", `/agent/runs/${runId}/followups`, message)).status).toBe(200);
    const environment = { name: "e", variables: { A: "b" } };
    expect((await request("previous", "POST", "/agent/environments", environment)).status).toBe(201);
    expect((await request("previous", "POST", `/agent/runs/${runId}/cancel`)).status).toBe(200);
    expect((await request("previous", "DELETE", `/agent/runs/${runId}`)).status).toBe(204);
    expect((await request("current", "GET", `/agent/runs/${runId}`)).status).toBe(404);
  });

  test("a server of the previous version starts on the migrated database", async () => {
    const restarted = await startServer("previous");
    expect((await request("previous", "GET", "/agent/runs")).status).toBe(200);
    expect(restarted.stderr()).not.toMatch(/"level":(50|60)/);
  });

  const script = "RUN: echo one > a.txt\nSAY: first";
  const nextScript = "RUN: cat a.txt\nSAY: second";

  test.each([
    ["a worker of the previous version works with the current server", "previous", "current"],
    ["a worker of the current version works with the previous server", "current", "previous"],
  ] as const)("%s, and restores files in the next turn", async (_, version, at) => {
    const other = at === "current" ? "previous" : "current";
    const worker = await startWorker(version, at);
    // A run that only a worker of the current version at a server of the current version can execute.
    const unsuitable = await create("current", "SAY: hello", { harness: "claude" });
    const runId = await create(other, script);
    const first = await waitForEnd(at, runId);
    expect(first).toMatchObject({ state: "SUCCEEDED", turns: 1 });
    await request(other, "POST", `/agent/runs/${runId}/followups`, { message: nextScript });
    await vi.waitUntil(async () => (await waitForEnd(at, runId)).turns === 2, waitOptions);
    expect(await waitForEnd(at, runId)).toMatchObject({ state: "SUCCEEDED", attempts: 1 });
    const read = async (from: Version) =>
      (await request(from, "GET", `/agent/runs/${runId}/events?limit=1000`)).body.events;
    expect(await read("previous")).toEqual(await read("current"));
    expect(JSON.stringify(await read("current"))).toContain("one\\n");
    const { state, queue } = (await request("current", "GET", `/agent/runs/${unsuitable}`)).body;
    expect({ state, reason: queue?.reason }).toEqual({ state: "QUEUED", reason: "no_harness_worker" });
    await request("current", "POST", `/agent/runs/${unsuitable}/cancel`);
    expect((await worker.end("SIGTERM")).code).toBe(0);
  });

  test.each([
    ["previous", "current"],
    ["current", "previous"],
  ] as const)("deltas of a %s worker reach readers at a %s server", async (version, at) => {
    const worker = await startWorker(version, at);
    const runId = await create(at, "RUN: sleep 1\nSAY: live\nSLEEP: 500\nSAY: end");
    const stream = await fetch(`${origins[at]}/api/v1/agent/runs/${runId}/events`, {
      headers: { authorization: `Bearer ${key}`, accept: "text/event-stream" },
    });
    const deltas = (await stream.text())
      .split("\n\n")
      .filter((event) => event.includes("message.agent.delta"));
    expect(deltas.join("")).toContain('"text":"live"');
    expect((await worker.end("SIGTERM")).code).toBe(0);
  });

  test.each([
    ["previous", "current"],
    ["current", "previous"],
  ] as const)("a build of a %s worker is used by a %s worker", async (builder, user) => {
    const setup_commands = ["head -c 5000000 /dev/zero > zeros; echo built > made.txt"];
    const body = { name: `built by ${builder}`, setup_commands };
    const { environment_id } = (await request("current", "POST", "/agent/environments", body)).body;
    const build = async () =>
      (await request("current", "GET", `/agent/environments/${environment_id}`)).body.build;
    const first = await startWorker(builder, "current");
    await request("current", "POST", `/agent/environments/${environment_id}/builds`);
    await vi.waitUntil(async () => (await build())?.state === "READY", waitOptions);
    expect((await first.end("SIGTERM")).code).toBe(0);

    const second = await startWorker(user, "current");
    const runId = await create("current", "RUN: cat made.txt; wc -c < zeros\nSAY: done", { environment_id });
    expect(await waitForEnd("current", runId)).toMatchObject({ state: "SUCCEEDED" });
    const { events } = (await request("current", "GET", `/agent/runs/${runId}/events?limit=1000`)).body;
    expect(JSON.stringify(events)).toContain("built\\n5000000\\n");
    expect((await second.end("SIGTERM")).code).toBe(0);
  });

  test("a worker of the current version resumes a run of a previous worker", async () => {
    const first = await startWorker("previous", "current");
    const runId = await create("current", "RUN: echo begun > a.txt\nSLEEP: 8000\nRUN: cat a.txt\nSAY: done");
    const log = async () =>
      JSON.stringify((await request("current", "GET", `/agent/runs/${runId}/events`)).body.events);
    await vi.waitUntil(async () => (await log()).includes('"command.finished"'), waitOptions);
    await first.end("SIGKILL");
    await startWorker("current", "current");
    expect(await waitForEnd("current", runId)).toMatchObject({ state: "SUCCEEDED", attempts: 2 });
    expect((await request("previous", "GET", `/agent/runs/${runId}`)).body.attempts).toBe(2);
  });
});
