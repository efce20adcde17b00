import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, keyOf, makeDataDir, removeDataDir, root, type Serving, serve, watch } from "./process.ts";

const isFull = Boolean(process.env.OUTRIDER_FULL);
/** Fuzzed cases for each operation. What schemathesis derives from the schema itself comes on top, some 2,000. */
const EXAMPLES = isFull ? 450 : 5;
const LEAST_CASES = isFull ? 10_000 : 1_500;
const SPARE = isFull ? 100 : 10;

let dataDir: string;
let server: Serving;
let key: string;
let seeded: Awaited<ReturnType<typeof seed>>;

beforeAll(async () => {
  dataDir = makeDataDir();
  // What pages ask all the time is told at debug alone.
  server = await serve({ dataDir, environment: { OUTRIDER_WORKERS: "0", OUTRIDER_LOG_LEVEL: "debug" } });
  key = keyOf(dataDir);
  seeded = await seed();
});

afterAll(async () => {
  await server?.end("SIGTERM");
  removeDataDir(dataDir);
});

async function make(method: string, path: string, body?: unknown) {
  const reply = await call(method, `${server.origin}/api/v1${path}`, { key, body });
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply.body;
}

/** Some of everything, by the name under which paths ask for it; see schemathesis_hooks.py. */
async function seed() {
  const newRun = async () => (await make("POST", "/agent/run", { prompt: "Seeded." })).run_id as string;
  const several = <T>(count: number, one: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, index) => one(index)));
  const everything = async (count: number, prefix: string) => ({
    runId: await several(count, newRun),
    followup: await several(count, async () => {
      const run = await newRun();
      const sent = await make("POST", `/agent/runs/${run}/followups`, { message: "Seeded." });
      return [run, sent.followup_id as string];
    }),
    environmentId: await several(
      count,
      async () => (await make("POST", "/agent/environments", { name: prefix })).environment_id as string,
    ),
    uid: await several(
      count,
      async () => (await make("POST", "/agent/identities", { name: prefix })).uid as string,
    ),
    keyId: await several(
      count,
      async () => (await make("POST", "/keys", { name: prefix, type: "personal" })).key_id as string,
    ),
    personUid: await several(count, async (index) => {
      const body = { email: `${prefix}-${index}@example.com`, display_name: prefix };
      return (await make("POST", "/people", body)).person.uid as string;
    }),
    name: await several(
      count,
      async (index) =>
        (await make("PUT", `/agent/secrets/${prefix}_${index}`, { value: "seeded secret" })).name as string,
    ),
  });
  // First of all, so that the run which the worker takes is not one of those that paths ask for.
  const ofWorker = await seedWorker();
  const built = { name: "built", setup_commands: ["true"] };
  const { environment_id } = await make("POST", "/agent/environments", built);
  const { build_id } = await make("POST", `/agent/environments/${environment_id}/builds`);
  const lasting = { ...(await everything(3, "LASTING")), ...ofWorker, build: [[environment_id, build_id]] };
  const spare = await everything(SPARE, "SPARE");
  // Only what has ended can be deleted.
  for (const run of spare.runId) await make("POST", `/agent/runs/${run}/cancel`);
  return { lasting, spare };
}

/** A worker that has taken a run and left a file, told by its own calls. */
async function seedWorker() {
  const { key: workerKey } = await make("POST", "/keys", { name: "worker", type: "worker" });
  const tell = async (path: string, body: object) => {
    const reply = await call("POST", `${server.origin}/api/v1/worker${path}`, { key: workerKey, body });
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  };
  await make("POST", "/agent/run", { prompt: "Taken." });
  const worker = { worker_id: randomUUID(), name: "seeded", version: "0", slots: 1 };
  const { executions } = await tell("/claim", { request_id: randomUUID(), worker, free: 1, wait_ms: 0 });
  const [{ execution_id, run_id }] = executions;
  const content = "left behind";
  const sha256 = createHash("sha256").update(content).digest("hex");
  const stored = await fetch(`${server.origin}/api/v1/worker/blobs/${sha256}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${workerKey}`, "content-type": "application/octet-stream" },
    body: content,
  });
  expect(stored.status).toBe(204);
  const artifact = { artifact_id: randomUUID(), type: "FILE", name: "left.txt", mime_type: "text/plain" };
  const artifacts = [{ ...artifact, size_bytes: content.length, sha256 }];
  await tell(`/executions/${execution_id}/report`, {
    run_id,
    batch: 1,
    events: [],
    deliver: false,
    artifacts,
  });
  return { artifactId: [artifact.artifact_id], workerId: [worker.worker_id] };
}

const leftOut = [
  // They stop everybody else, as they should; packages/server/test/brake.test.ts sees to them.
  ...["setBrake", "cancelRuns"],
  // The other address of createRun has its schema, the largest of all.
  ...(isFull ? [] : ["createRunAlias"]),
];

async function schemathesis() {
  const { key: own } = (await call("GET", `${server.origin}/api/v1/me`, { key })).body;
  const args = [
    ...["--config-file", join(import.meta.dirname, "schemathesis.toml")],
    ...["run", `${server.origin}/api/v1/openapi.json`, "--max-examples", String(EXAMPLES)],
    ...leftOut.flatMap((operation) => ["--exclude-operation-id", operation]),
  ];
  const child = spawn(join(root, ".tools/python/bin/schemathesis"), args, {
    cwd: dataDir,
    env: {
      ...process.env,
      NO_PROXY: "127.0.0.1",
      PYTHONDONTWRITEBYTECODE: "1",
      SCHEMATHESIS_HOOKS: join(import.meta.dirname, "schemathesis_hooks.py"),
      OUTRIDER_TEST_KEY: key,
      OUTRIDER_TEST_KEY_ID: own.key_id,
      OUTRIDER_TEST_IDS: JSON.stringify(seeded),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const running = watch(child, "schemathesis");
  const { code } = await running.ended;
  return { code, report: running.stdout() + running.stderr() };
}

/** What it found stands at the end; the calls in it may be as long as the longest prompt. */
function tailOf(report: string): string {
  const lines = report.split("\n").map((line) => (line.length > 400 ? `${line.slice(0, 400)}…` : line));
  return lines.join("\n").slice(-12_000);
}

/** How often each operation was answered with which status, by the server's own log. */
function answersByOperation(): Map<string, Map<number, number>> {
  const answers = new Map<string, Map<number, number>>();
  for (const line of server.stdout().trim().split("\n")) {
    const { msg, operation, status } = JSON.parse(line);
    if (msg !== "answered") continue;
    const statuses = answers.get(operation) ?? new Map();
    answers.set(operation, statuses.set(status, (statuses.get(status) ?? 0) + 1));
  }
  return answers;
}

describe("the API keeps what openapi.json promises", () => {
  test("for every generated call, valid or not", { timeout: isFull ? 3_600_000 : 240_000 }, async () => {
    const before = answersByOperation();
    const { code, report } = await schemathesis();
    expect(code, tailOf(report)).toBe(0);
    const cases = Number(/(\d+) generated/.exec(report)?.[1]);
    console.log(`schemathesis: ${cases} cases`);
    expect(cases).toBeGreaterThanOrEqual(LEAST_CASES);

    // A call that is always refused tells nothing about its answers.
    const { paths } = (await call("GET", `${server.origin}/api/v1/openapi.json`)).body;
    const operations = Object.values(paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
      .filter((operation) => !leftOut.includes(operation));
    const after = answersByOperation();
    const neverWentThrough = operations.filter((operation) => {
      const seededWith = before.get(operation) ?? new Map();
      return ![...(after.get(operation) ?? [])].some(
        ([status, count]) => status < 300 && count > (seededWith.get(status) ?? 0),
      );
    });
    expect(neverWentThrough).toEqual([]);
    const failed = [...after].filter(([, statuses]) => [...statuses.keys()].some((status) => status >= 500));
    expect(failed).toEqual([]);
  });

  test("and the key that carried it all still works", async () => {
    expect((await call("GET", `${server.origin}/api/v1/me`, { key })).status).toBe(200);
  });
});
