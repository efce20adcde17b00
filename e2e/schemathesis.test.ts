import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../scripts/tests/wait-options.ts";
import { call, keyOf, makeDataDir, removeDataDir, root, type Serving, serve, watch } from "./process.ts";

const isFull = Boolean(process.env.OUTRIDER_FULL);
/** Fuzzed cases for each operation. Schemathesis adds about 2,000 cases that it derives from the schema. */
const EXAMPLES = isFull ? 500 : 5;
const MIN_CASES = isFull ? 20_000 : 1_500;
const SPARE = isFull ? 100 : 10;

let dataDir: string;
let server: Serving;
let key: string;
let seeded: Awaited<ReturnType<typeof seed>>;

beforeAll(async () => {
  dataDir = makeDataDir();
  // The server logs requests that pages poll only at debug level.
  server = await serve({
    dataDir,
    environment: {
      OUTRIDER_WORKERS: "0",
      OUTRIDER_LOG_LEVEL: "debug",
      OUTRIDER_MAX_SHELLS_PER_USER: "100000",
    },
  });
  key = keyOf(dataDir);
  seeded = await seed();
});

afterAll(async () => {
  await server?.end("SIGTERM");
  removeDataDir(dataDir);
});

async function request(method: string, path: string, body?: unknown) {
  // A server rejects requests while its database is slow.
  const reply = await vi.waitUntil(async () => {
    const response = await call(method, `${server.origin}/api/v1${path}`, { key, body });
    return response.status === 503 ? undefined : response;
  }, waitOptions);
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply.body;
}

/** Creates resources of every kind, keyed by the path parameter that names them. See schemathesis_hooks.py. */
async function seed() {
  const newRun = async () => (await request("POST", "/agent/run", { prompt: "Seeded." })).run_id as string;
  const repeat = <T>(count: number, create: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, index) => create(index)));
  const seedAll = async (count: number, prefix: string) => ({
    runId: await repeat(count, newRun),
    followup: await repeat(count, async () => {
      const run = await newRun();
      const sent = await request("POST", `/agent/runs/${run}/followups`, { message: "Seeded." });
      return [run, sent.followup_id as string];
    }),
    environmentId: await repeat(
      count,
      async () => (await request("POST", "/agent/environments", { name: prefix })).environment_id as string,
    ),
    uid: await repeat(
      count,
      async () => (await request("POST", "/agent/identities", { name: prefix })).uid as string,
    ),
    keyId: await repeat(
      count,
      async () => (await request("POST", "/keys", { name: prefix, type: "personal" })).key_id as string,
    ),
    userUid: await repeat(count, async (index) => {
      const body = { email: `${prefix}-${index}@example.com`, display_name: prefix };
      return (await request("POST", "/users", body)).user.uid as string;
    }),
    providerName: await repeat(count, async (index) => {
      const body = { type: "openai-compatible", base_url: "http://127.0.0.1:9/v1", models: [{ id: "tiny" }] };
      return (await request("PUT", `/agent/model-providers/${prefix}-${index}`, body)).name as string;
    }),
    name: await repeat(
      count,
      async (index) =>
        (await request("PUT", `/agent/secrets/${prefix}_${index}`, { value: "seeded secret" }))
          .name as string,
    ),
  });
  // Comes first, so that the worker claims none of the runs below.
  const workerIds = await seedWorker();
  const built = { name: "built", setup_commands: ["true"] };
  const { environment_id } = await request("POST", "/agent/environments", built);
  const { build_id } = await request("POST", `/agent/environments/${environment_id}/builds`);
  const { shell_id } = await request("POST", `/agent/environments/${environment_id}/shells`, {});
  const lasting = {
    ...(await seedAll(3, "LASTING")),
    ...workerIds,
    build: [[environment_id, build_id]],
    shell: [[environment_id, shell_id]],
  };
  const spare = await seedAll(SPARE, "SPARE");
  // Only ended runs can be deleted.
  for (const run of spare.runId) await request("POST", `/agent/runs/${run}/cancel`);
  return { lasting, spare };
}

/** Simulates a worker that claims a run and stores an artifact, through the worker API. */
async function seedWorker() {
  const { key: workerKey } = await request("POST", "/keys", { name: "worker", type: "worker" });
  const callAsWorker = async (path: string, body: object) => {
    const reply = await call("POST", `${server.origin}/api/v1/worker${path}`, { key: workerKey, body });
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  };
  await request("POST", "/agent/run", { prompt: "Taken." });
  const worker = { worker_id: randomUUID(), name: "seeded", version: "0", slots: 1 };
  const { executions } = await callAsWorker("/claim", {
    request_id: randomUUID(),
    worker,
    free: 1,
    wait_ms: 0,
  });
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
  await callAsWorker(`/executions/${execution_id}/report`, {
    run_id,
    batch: 1,
    events: [],
    deliver: false,
    artifacts,
  });
  return { artifactId: [artifact.artifact_id], workerId: [worker.worker_id] };
}

/** They would block all other calls, so a separate pass calls them at the end. */
const maintenance = ["setMaintenance", "cancelRuns"];
const MAINTENANCE_EXAMPLES = 50;

/** Operations that only the full test calls: those for maintenance, and an alias of the largest operation. */
const onlyInFull = [...maintenance, "createRunAlias"];

/** Calls the operations that the options of schemathesis select. */
async function schemathesis(selection: string[], examples: number) {
  const { key: ownKey } = (await call("GET", `${server.origin}/api/v1/me`, { key })).body;
  const args = [
    ...["--config-file", join(import.meta.dirname, "schemathesis.toml")],
    ...["run", `${server.origin}/api/v1/openapi.json`, "--max-examples", String(examples)],
    ...selection,
  ];
  const child = spawn(join(root, ".tools/python/bin/schemathesis"), args, {
    cwd: dataDir,
    env: {
      ...process.env,
      NO_PROXY: "127.0.0.1",
      PYTHONDONTWRITEBYTECODE: "1",
      SCHEMATHESIS_HOOKS: join(import.meta.dirname, "schemathesis_hooks.py"),
      OUTRIDER_TEST_KEY: key,
      OUTRIDER_TEST_KEY_ID: ownKey.key_id,
      OUTRIDER_TEST_IDS: JSON.stringify(seeded),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const running = watch(child, "schemathesis");
  const { code } = await running.ended;
  return { code, report: running.stdout() + running.stderr() };
}

/** Calls the operations for maintenance, and then ends the maintenance. */
async function callMaintenance() {
  const selection = maintenance.flatMap((operation) => ["--include-operation-id", operation]);
  const { code, report } = await schemathesis(selection, MAINTENANCE_EXAMPLES);
  await request("PUT", "/installation/maintenance", {});
  expect(code, tailOf(report)).toBe(0);
}

/** Returns the end of a report, which lists the failures. Truncates lines, because calls can contain long prompts. */
function tailOf(report: string): string {
  const lines = report.split("\n").map((line) => (line.length > 400 ? `${line.slice(0, 400)}…` : line));
  return lines.join("\n").slice(-12_000);
}

/** Counts the answers by operation and status, according to the server's log. */
function answersByOperation(): Map<string, Map<number, number>> {
  const answers = new Map<string, Map<number, number>>();
  for (const line of server.stdout().trim().split("\n")) {
    const { msg, operation, status } = JSON.parse(line);
    if (msg !== "request completed") continue;
    const statuses = answers.get(operation) ?? new Map();
    answers.set(operation, statuses.set(status, (statuses.get(status) ?? 0) + 1));
  }
  return answers;
}

/**
 * These operations succeed only with a connected forge or with the commits or files of a run, which this server does not
 * have. The tests of `packages/server/test`, `packages/worker/test` and `e2e/publishing` call them.
 */
const needForgeOrFiles = [
  "readRunFile",
  "createPublication",
  "getPublication",
  "approvePublication",
  "rejectPublication",
  "getCommits",
  "createForge",
  "getForge",
  "deleteForge",
  "listForgeRepositories",
  "testForge",
  "completeAppManifest",
];

describe("the API conforms to openapi.json", () => {
  test("for every generated call, valid or invalid", { timeout: isFull ? 7_200_000 : 900_000 }, async () => {
    const before = answersByOperation();
    const excluded = isFull ? maintenance : onlyInFull;
    const exclusions = excluded.flatMap((operation) => ["--exclude-operation-id", operation]);
    const { code, report } = await schemathesis(exclusions, EXAMPLES);
    expect(code, tailOf(report)).toBe(0);
    const cases = Number(/(\d+) generated/.exec(report)?.[1]);
    console.log(`schemathesis: ${cases} cases`);
    expect(cases).toBeGreaterThanOrEqual(MIN_CASES);
    if (isFull) await callMaintenance();

    // An operation that rejects every call has untested answers.
    const { paths } = (await call("GET", `${server.origin}/api/v1/openapi.json`)).body;
    const operations = Object.values(paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
      .filter((operation) => isFull || !onlyInFull.includes(operation));
    const after = answersByOperation();
    const neverSucceeded = operations.filter((operation) => {
      const seedAnswers = before.get(operation) ?? new Map();
      return ![...(after.get(operation) ?? [])].some(
        ([status, count]) => status < 300 && count > (seedAnswers.get(status) ?? 0),
      );
    });
    expect(neverSucceeded).toEqual(needForgeOrFiles);
    const failed = [...after].filter(([, statuses]) => [...statuses.keys()].some((status) => status >= 500));
    expect(failed).toEqual([]);
  });

  test("the key still works afterwards", async () => {
    expect((await call("GET", `${server.origin}/api/v1/me`, { key })).status).toBe(200);
  });
});
