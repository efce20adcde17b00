import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../../packages/server/test/server.ts";
import { call, keyOf, makeDataDir, patience, type Running, removeDataDir, root, run } from "../process.ts";
import { checkOutPrevious } from "./previous.ts";

/** Two servers on one database, the version before and this one, and a worker of each. */
describe("the version before and this one, side by side", { timeout: 120_000 }, () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let dataDir: string;
  let folder: string;
  let key: string;
  let workerKey: string;
  let early: string;
  const origins = { before: "", now: "" };
  const running: Running[] = [];
  const masterKey = randomBytes(32).toString("base64");
  type Version = keyof typeof origins;
  const bin = (version: Version) => join(version === "before" ? folder : root, "bin/outrider");

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
    await server.says("Outrider listens on ");
    origins[version] = /Outrider listens on (https?:\S+)/.exec(server.stderr())?.[1] as string;
    return server;
  }

  async function startWorker(version: Version, at: Version) {
    const place = join(dataDir, `worker-${version}-${randomBytes(2).toString("hex")}`);
    const args = ["worker", "--server", origins[at], "--name", version, "--data-dir", place];
    const worker = run(args, { OUTRIDER_WORKER_KEY: workerKey }, bin(version));
    running.push(worker);
    await worker.says("ready for runs");
    return worker;
  }

  const ask = (at: Version, method: string, path: string, body?: unknown) =>
    call(method, `${origins[at]}/api/v1${path}`, { key, ...(body === undefined ? {} : { body }) });

  async function create(at: Version, prompt: string): Promise<string> {
    const made = await ask(at, "POST", "/agent/run", { prompt });
    expect(made.text).toContain("run_id");
    return made.body.run_id;
  }

  async function ended(at: Version, runId: string) {
    const look = async () => (await ask(at, "GET", `/agent/runs/${runId}`)).body;
    await vi.waitUntil(async () => /SUCCEEDED|FAILED/.test((await look()).state), patience);
    return look();
  }

  beforeAll(async () => {
    folder = checkOutPrevious();
    database = await testDatabase();
    dataDir = makeDataDir();
    await startServer("before");
    key = keyOf(dataDir);
    workerKey = (await ask("before", "POST", "/keys", { name: "w", type: "worker" })).body.key;
    early = await create("before", "SAY: from before");
    await startServer("now");
  }, 120_000);

  afterAll(async () => {
    // Workers first: they hand back what they have to servers that live.
    for (const one of running.reverse()) await one.end("SIGTERM");
    await database?.drop();
    if (dataDir) removeDataDir(dataDir);
    if (folder) rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  test("the server before goes on with the database that this one has migrated", async () => {
    const runId = await create("before", "SAY: hello");
    for (const at of ["before", "now"] as const) {
      expect((await ask(at, "GET", `/agent/runs/${early}`)).body.prompt).toBe("SAY: from before");
      const { runs } = (await ask(at, "GET", "/agent/runs?q=hello")).body;
      expect(runs.map((one: { run_id: string }) => one.run_id)).toEqual([runId]);
    }
    const message = { message: "SAY: more" };
    expect((await ask("before", "POST", `/agent/runs/${runId}/followups`, message)).status).toBe(200);
    const environment = { name: "e", variables: { A: "b" } };
    expect((await ask("before", "POST", "/agent/environments", environment)).status).toBe(201);
    expect((await ask("before", "POST", `/agent/runs/${runId}/cancel`)).status).toBe(200);
    expect((await ask("before", "DELETE", `/agent/runs/${runId}`)).status).toBe(204);
    expect((await ask("now", "GET", `/agent/runs/${runId}`)).status).toBe(404);
  });

  test("a server of the version before also starts on it", async () => {
    const again = await startServer("before");
    expect((await ask("before", "GET", "/agent/runs")).status).toBe(200);
    expect(again.stderr()).not.toMatch(/"level":(50|60)/);
  });

  const script = "RUN: echo one > a.txt\nSAY: first";
  const more = "RUN: cat a.txt\nSAY: second";

  test.each([
    ["a worker of the version before works for this server", "before", "now"],
    ["a worker of this version works for the server before", "now", "before"],
  ] as const)("%s, turn after turn, with its files", async (_, version, at) => {
    const other = at === "now" ? "before" : "now";
    const worker = await startWorker(version, at);
    const runId = await create(other, script);
    const first = await ended(at, runId);
    expect(first).toMatchObject({ state: "SUCCEEDED", turns: 1 });
    await ask(other, "POST", `/agent/runs/${runId}/followups`, { message: more });
    await vi.waitUntil(async () => (await ended(at, runId)).turns === 2, patience);
    expect(await ended(at, runId)).toMatchObject({ state: "SUCCEEDED", attempts: 1 });
    const read = async (from: Version) =>
      (await ask(from, "GET", `/agent/runs/${runId}/events?limit=1000`)).body.events;
    expect(await read("before")).toEqual(await read("now"));
    expect(JSON.stringify(await read("now"))).toContain("one\\n");
    expect((await worker.end("SIGTERM")).code).toBe(0);
  });

  test("what a worker of one version began, one of the other finishes", async () => {
    const first = await startWorker("before", "now");
    const runId = await create("now", "RUN: echo begun > a.txt\nSLEEP: 8000\nRUN: cat a.txt\nSAY: done");
    const log = async () =>
      JSON.stringify((await ask("now", "GET", `/agent/runs/${runId}/events`)).body.events);
    await vi.waitUntil(async () => (await log()).includes('"command.finished"'), patience);
    await first.end("SIGKILL");
    await startWorker("now", "now");
    expect(await ended("now", runId)).toMatchObject({ state: "SUCCEEDED", attempts: 2 });
    expect((await ask("before", "GET", `/agent/runs/${runId}`)).body.attempts).toBe(2);
  });
});
