import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunState } from "@outrider/contract/run";
import { isFinal } from "@outrider/contract/run-state";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { testDatabase } from "../packages/server/test/server.ts";
import { makeFolder, Origin } from "../packages/worker/test/repositories/git-server.ts";
import { waitOptions } from "../scripts/tests/wait-options.ts";
import {
  call,
  expectNothingOn,
  keyOf,
  makeDataDir,
  outrider,
  removeDataDir,
  run,
  type Serving,
  serve,
} from "./process.ts";

/** Takes backups of real servers and workers under load, and restores them into new installations. */

const PASSPHRASE = "correct horse battery staple";
const SECRET = "s3cret-that-is-sealed-in-the-database";
const CLIENTS = 3;
const FINAL_BEFORE = 5;

type Kind = "the embedded PostgreSQL" | "an external PostgreSQL";

/** Creates the data folder of an installation, and its database if that is external. */
async function createTarget(kind: Kind) {
  const dataDir = makeDataDir();
  const database = kind === "the embedded PostgreSQL" ? undefined : await testDatabase();
  onTestFinished(async () => {
    removeDataDir(dataDir);
    await database?.drop();
  });
  const environment: Record<string, string> = { OUTRIDER_DATA_DIR: dataDir, OUTRIDER_LOG_LEVEL: "warn" };
  if (database) environment.DATABASE_URL = database.url;
  return { dataDir, environment };
}

function clientOf({ origin }: Serving, key: string) {
  const request = async (method: string, path: string, body?: unknown) => {
    const reply = await call(method, `${origin}/api/v1${path}`, { key, body });
    expect(reply.status, `${method} ${path}: ${reply.text}`).toBeLessThan(300);
    return reply;
  };
  const read = async (path: string) => (await request("GET", path)).text.replaceAll(origin, "ORIGIN");
  return {
    request,
    get: async (path: string) => (await request("GET", path)).body,
    /** Returns everything that the API shows of a run, as text. */
    async readRun(runId: string): Promise<Record<string, string>> {
      const path = `/agent/runs/${runId}`;
      const item = await read(path);
      const files: string[] = JSON.parse(item).artifacts.map(
        (artifact: { artifact_id: string }) => artifact.artifact_id,
      );
      const contents = files.map(async (id) => [id, await read(`/agent/artifacts/${id}/content`)] as const);
      return {
        // A backup does not contain the warm sandbox of an ended run.
        item: item.replace('"is_sandbox_running":true', '"is_sandbox_running":false'),
        events: await read(`${path}/events?limit=1000`),
        followups: await read(`${path}/followups`),
        diff: await read(`${path}/diff`),
        ...Object.fromEntries(await Promise.all(contents)),
      };
    },
    async states(): Promise<Map<string, RunState>> {
      const { runs } = (await request("GET", "/agent/runs?limit=500")).body;
      return new Map(runs.map(({ run_id, state }: { run_id: string; state: RunState }) => [run_id, state]));
    },
  };
}

type Client = ReturnType<typeof clientOf>;

const finalRuns = (states: Map<string, RunState>) =>
  [...states].filter(([, state]) => isFinal(state)).map(([runId]) => runId);

const outputOf = ({ events }: { events: { type: string; data: { text?: string } }[] }) =>
  events.flatMap(({ type, data }) => (type === "command.output" ? [data.text] : [])).join("");

/** Creates an environment with a repository, a secret, and a file that differs in every build. */
async function createEnvironment(client: Client, url: string) {
  await client.request("PUT", "/agent/secrets/TOKEN", { value: SECRET });
  const body = {
    name: "site",
    repos: [{ url }],
    setup_commands: ["date +%N > ~/built"],
    variables: { GO: "no" },
    secrets: ["TOKEN"],
  };
  const { environment_id } = (await client.request("POST", "/agent/environments", body)).body;
  return { environment_id, body };
}

/** Creates runs continuously. Returns a function that stops the load. */
function startLoad(client: Client, environment_id: string) {
  let isStopped = false;
  const createRuns = async () => {
    while (!isStopped) {
      const id = randomUUID();
      const lines = [
        `WRITE: ${id}.txt | written by ${id}`,
        `CALL: keep_artifact {"path": "${id}.txt"}`,
        "RUN: cat ~/built",
        `SAY: done with ${id}`,
      ];
      const body = { prompt: lines.join("\n"), config: { environment_id } };
      const { run_id } = (await client.request("POST", "/agent/run", body)).body;
      await vi.waitUntil(
        async () => isStopped || isFinal((await client.get(`/agent/runs/${run_id}`)).state),
        waitOptions,
      );
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, createRuns));
  return async () => {
    isStopped = true;
    await clients;
  };
}

describe.each<[Kind, Kind]>([
  ["the embedded PostgreSQL", "an external PostgreSQL"],
  ["an external PostgreSQL", "the embedded PostgreSQL"],
])("a backup of %s under load, restored into %s", (from, to) => {
  test("contains every final run with all its events, and the other runs resume", async () => {
    const git = makeFolder();
    onTestFinished(git.remove);
    const site = new Origin(git.folder, "site");
    site.push("main", { "README.md": "hello\n" });
    const repositories = { OUTRIDER_REPOSITORY_PATHS: git.folder };

    const source = await createTarget(from);
    const environment = { ...source.environment, ...repositories };
    const sourceServer = await serve({ dataDir: source.dataDir, environment });
    const key = keyOf(source.dataDir);
    const before = clientOf(sourceServer, key);
    const { environment_id, body } = await createEnvironment(before, `file://${site.bare}`);
    const workerKey = (await before.request("POST", "/keys", { name: "rack", type: "worker" })).body
      .key as string;

    const script = ["WRITE: kept.txt | kept", 'RUN: [ "$GO" = yes ] || sleep 600', "RUN: cat kept.txt"];
    const request = { prompt: script.join("\n"), config: { environment_id } };
    const interrupted = (await before.request("POST", "/agent/run", request)).body.run_id as string;
    const eventsOf = (client: Client, runId: string) => client.get(`/agent/runs/${runId}/events?limit=1000`);
    await vi.waitUntil(
      async () =>
        (await eventsOf(before, interrupted)).events.some(
          ({ type, data }: { type: string; data: object }) =>
            type === "command.started" && JSON.stringify(data).includes("sleep 600"),
        ),
      waitOptions,
    );
    const stopLoad = startLoad(before, environment_id);
    await vi.waitUntil(async () => finalRuns(await before.states()).length >= FINAL_BEFORE, waitOptions);

    const finalBefore = finalRuns(await before.states());
    const file = join(git.folder, "night.backup");
    const passphrase = { OUTRIDER_BACKUP_PASSPHRASE: PASSPHRASE };
    const taken = await outrider(["backup", file, "--with-master-key", "--json"], {
      ...source.environment,
      ...passphrase,
    });
    expect(taken, taken.stderr).toMatchObject({ code: 0 });
    expect(JSON.parse(taken.stdout)).toMatchObject({ file, with_master_key: true, files: { missing: 0 } });
    expect(readdirSync(git.folder).filter((name) => name.includes(".part"))).toEqual([]);
    await stopLoad();

    const target = await createTarget(to);
    const wrong = join(git.folder, "wrong");
    writeFileSync(wrong, "another passphrase\n");
    const rejected = await outrider(["restore", file, "--passphrase-file", wrong], target.environment);
    expect(rejected).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The passphrase is wrong"),
    });
    expect(existsSync(join(target.dataDir, "master.key"))).toBe(false);
    const restored = await outrider(["restore", file], { ...target.environment, ...passphrase });
    expect(restored, restored.stderr).toMatchObject({ code: 0 });
    expect(restored.stderr).toMatch(/^Restored as of .*: \d+ runs, \d+ events, \d+ files\.$/m);
    expect(readFileSync(join(target.dataDir, "master.key"), "utf8")).toBe(
      readFileSync(join(source.dataDir, "master.key"), "utf8"),
    );

    const withoutWorkers = { ...target.environment, OUTRIDER_WORKERS: "0" };
    const restoredServer = await serve({ dataDir: target.dataDir, environment: withoutWorkers });
    const after = clientOf(restoredServer, key);
    const states = await after.states();
    expect(states.get(interrupted)).toBe("INPROGRESS");
    const finalInBackup = finalRuns(states);
    expect(finalInBackup).toEqual(expect.arrayContaining(finalBefore));
    for (const runId of finalInBackup)
      expect(await after.readRun(runId)).toEqual(await before.readRun(runId));

    // The backup contains the key of the external worker.
    await after.request("PUT", `/agent/environments/${environment_id}`, {
      ...body,
      variables: { GO: "yes" },
    });
    const args = [
      "worker",
      "--server",
      restoredServer.origin,
      "--name",
      "rack",
      "--data-dir",
      join(target.dataDir, "rack"),
    ];
    const worker = run(args, { OUTRIDER_WORKER_KEY: workerKey, ...repositories });
    await vi.waitUntil(async () => finalRuns(await after.states()).length === states.size, waitOptions);
    expect([...new Set((await after.states()).values())]).toEqual(["SUCCEEDED"]);
    const { events } = await eventsOf(after, interrupted);
    expect(events.map(({ type }: { type: string }) => type)).toContain("run.recovering");
    expect(outputOf({ events })).toContain("kept");

    // A follow-up finds the files of the run, the environment build and the secret.
    const [first] = finalBefore as [string];
    const built = outputOf(await eventsOf(before, first));
    const message = 'RUN: cat ~/built; printf %s "$TOKEN" | sha256sum; ls';
    await after.request("POST", `/agent/runs/${first}/followups`, { message });
    await vi.waitUntil(
      async () =>
        (await after.get(`/agent/runs/${first}`)).state === "SUCCEEDED" &&
        (await eventsOf(after, first)).events.some(({ turn }: { turn: number }) => turn === 2),
      waitOptions,
    );
    const output = outputOf(await eventsOf(after, first));
    expect(output.slice(built.length)).toContain(built.trim());
    expect(output).toContain(createHash("sha256").update(SECRET).digest("hex"));
    expect(output).toMatch(/[0-9a-f-]{36}\.txt/);

    await before.request("POST", `/agent/runs/${interrupted}/cancel`);
    await Promise.all([worker.end("SIGTERM"), sourceServer.end("SIGTERM")]);
    await restoredServer.end("SIGTERM");
    await Promise.all([expectNothingOn(target.dataDir), expectNothingOn(source.dataDir)]);
  });
});

test("a backup of a stopped installation starts the database temporarily", async () => {
  const { dataDir, environment } = await createTarget("the embedded PostgreSQL");
  const server = await serve({ dataDir, environment: { ...environment, OUTRIDER_WORKERS: "0" } });
  await server.end("SIGTERM");
  const file = join(dataDir, "a.backup");
  const taken = await outrider(["backup", file], environment);
  expect(taken).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining("The backup does not contain the master key"),
  });
  await expectNothingOn(dataDir);

  const other = await createTarget("the embedded PostgreSQL");
  const restored = await outrider(["restore", file], other.environment);
  expect(restored).toMatchObject({ code: 0, stderr: expect.stringContaining("set OUTRIDER_MASTER_KEY") });
  const again = await outrider(["restore", file], other.environment);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("The database is not empty") });
  const masterKey = readFileSync(join(dataDir, "master.key"), "utf8").trim();
  const restoredEnvironment = { ...other.environment, OUTRIDER_WORKERS: "0", OUTRIDER_MASTER_KEY: masterKey };
  const restoredServer = await serve({ dataDir: other.dataDir, environment: restoredEnvironment });
  expect((await call("GET", `${restoredServer.origin}/api/v1/me`, { key: keyOf(dataDir) })).status).toBe(200);
  await restoredServer.end("SIGTERM");
});
