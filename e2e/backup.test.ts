import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isFinal } from "@outrider/contract/run";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { testDatabase } from "../packages/server/test/server.ts";
import { makeFolder, Origin } from "../packages/worker/test/git-server.ts";
import {
  call,
  expectNothingOn,
  keyOf,
  makeDataDir,
  outrider,
  patience,
  removeDataDir,
  run,
  type Serving,
  serve,
} from "./process.ts";

/** Real servers and workers, at work while the backup is taken, and an installation elsewhere that is made out of it. */

vi.setConfig({ testTimeout: 180_000 });

const PASSPHRASE = "a passphrase that nobody guesses";
const SECRET = "s3cret-that-is-sealed-in-the-database";
const CLIENTS = 3;
const FINAL_BEFORE = 5;

type Kind = "the own PostgreSQL" | "a PostgreSQL of yours";

/** Where an installation can be: its folder, and its database if that is elsewhere. */
async function makePlace(kind: Kind) {
  const dataDir = makeDataDir();
  const database = kind === "the own PostgreSQL" ? undefined : await testDatabase();
  onTestFinished(async () => {
    removeDataDir(dataDir);
    await database?.drop();
  });
  const environment: Record<string, string> = { OUTRIDER_DATA_DIR: dataDir, OUTRIDER_LOG_LEVEL: "warn" };
  if (database) environment.DATABASE_URL = database.url;
  return { dataDir, environment };
}

function clientOf({ origin }: Serving, key: string) {
  const ask = async (method: string, path: string, body?: unknown) => {
    const reply = await call(method, `${origin}/api/v1${path}`, { key, body });
    expect(reply.status, `${method} ${path}: ${reply.text}`).toBeLessThan(300);
    return reply;
  };
  const read = async (path: string) => (await ask("GET", path)).text.replaceAll(origin, "ORIGIN");
  return {
    ask,
    get: async (path: string) => (await ask("GET", path)).body,
    /** Everything that the API says of a run, as it says it. */
    async story(runId: string): Promise<Record<string, string>> {
      const path = `/agent/runs/${runId}`;
      const item = await read(path);
      const files: string[] = JSON.parse(item).artifacts.map(
        (one: { artifact_id: string }) => one.artifact_id,
      );
      const contents = files.map(async (id) => [id, await read(`/agent/artifacts/${id}/content`)] as const);
      return {
        // A sandbox that stands for a while after the end is not in a backup.
        item: item.replace('"is_sandbox_running":true', '"is_sandbox_running":false'),
        events: await read(`${path}/events?limit=1000`),
        followups: await read(`${path}/followups`),
        diff: await read(`${path}/diff`),
        ...Object.fromEntries(await Promise.all(contents)),
      };
    },
    async states(): Promise<Map<string, string>> {
      const { runs } = (await ask("GET", "/agent/runs?limit=500")).body;
      return new Map(runs.map(({ run_id, state }: { run_id: string; state: string }) => [run_id, state]));
    },
  };
}

type Client = ReturnType<typeof clientOf>;

const finals = (states: Map<string, string>) =>
  [...states].filter(([, state]) => isFinal(state as never)).map(([runId]) => runId);

const outputOf = ({ events }: { events: { type: string; data: { text?: string } }[] }) =>
  events.flatMap(({ type, data }) => (type === "command.output" ? [data.text] : [])).join("");

/** An environment with a repository, a secret, and files that no second build would make alike. */
async function makeEnvironment(client: Client, url: string) {
  await client.ask("PUT", "/agent/secrets/TOKEN", { value: SECRET });
  const body = {
    name: "site",
    repos: [{ url }],
    setup_commands: ["date +%N > ~/built"],
    variables: { GO: "no" },
    secrets: ["TOKEN"],
  };
  const { environment_id } = (await client.ask("POST", "/agent/environments", body)).body;
  return { environment_id, body };
}

/** Creates runs without pause, until told to stop. */
function startLoad(client: Client, environment_id: string) {
  let isEnough = false;
  const work = async () => {
    while (!isEnough) {
      const mark = randomUUID();
      const lines = [
        `WRITE: site/${mark}.txt | written by ${mark}`,
        `CALL: keep_artifact {"path": "site/${mark}.txt"}`,
        "RUN: cat ~/built",
        `SAY: done with ${mark}`,
      ];
      const body = { prompt: lines.join("\n"), config: { environment_id } };
      const { run_id } = (await client.ask("POST", "/agent/run", body)).body;
      await vi.waitUntil(
        async () => isEnough || isFinal((await client.get(`/agent/runs/${run_id}`)).state),
        patience,
      );
    }
  };
  const all = Promise.all(Array.from({ length: CLIENTS }, work));
  return async () => {
    isEnough = true;
    await all;
  };
}

describe.each<[Kind, Kind]>([
  ["the own PostgreSQL", "a PostgreSQL of yours"],
  ["a PostgreSQL of yours", "the own PostgreSQL"],
])("a backup of %s under load, restored into %s", (from, to) => {
  test("has every run that was final at that moment, event by event, and the others go on", async () => {
    const git = makeFolder();
    onTestFinished(git.remove);
    const site = new Origin(git.folder, "site");
    site.push("main", { "README.md": "hello\n" });
    const repositories = { OUTRIDER_REPOSITORY_PATHS: git.folder };

    const source = await makePlace(from);
    const environment = { ...source.environment, ...repositories };
    const busy = await serve({ dataDir: source.dataDir, environment });
    const key = keyOf(source.dataDir);
    const before = clientOf(busy, key);
    const { environment_id, body } = await makeEnvironment(before, `file://${site.bare}`);
    const workerKey = (await before.ask("POST", "/keys", { name: "rack", type: "worker" })).body
      .key as string;

    const script = [
      "WRITE: site/kept.txt | kept",
      'RUN: [ "$GO" = yes ] || sleep 600',
      "RUN: cat site/kept.txt",
    ];
    const request = { prompt: script.join("\n"), config: { environment_id } };
    const interrupted = (await before.ask("POST", "/agent/run", request)).body.run_id as string;
    const eventsOf = (client: Client, runId: string) => client.get(`/agent/runs/${runId}/events?limit=1000`);
    await vi.waitUntil(
      async () =>
        (await eventsOf(before, interrupted)).events.some(
          ({ type, data }: { type: string; data: object }) =>
            type === "command.started" && JSON.stringify(data).includes("sleep 600"),
        ),
      patience,
    );
    const stopLoad = startLoad(before, environment_id);
    await vi.waitUntil(async () => finals(await before.states()).length >= FINAL_BEFORE, patience);

    const finalBefore = finals(await before.states());
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

    const target = await makePlace(to);
    const wrong = join(git.folder, "wrong");
    writeFileSync(wrong, "another passphrase\n");
    const refused = await outrider(["restore", file, "--passphrase-file", wrong], target.environment);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The passphrase does not open"),
    });
    expect(existsSync(join(target.dataDir, "master.key"))).toBe(false);
    const made = await outrider(["restore", file], { ...target.environment, ...passphrase });
    expect(made, made.stderr).toMatchObject({ code: 0 });
    expect(made.stderr).toMatch(/^Restored as of .*: \d+ runs, \d+ events, \d+ files\.$/m);
    expect(readFileSync(join(target.dataDir, "master.key"), "utf8")).toBe(
      readFileSync(join(source.dataDir, "master.key"), "utf8"),
    );

    const quiet = { ...target.environment, OUTRIDER_WORKERS: "0" };
    const calm = await serve({ dataDir: target.dataDir, environment: quiet });
    const after = clientOf(calm, key);
    const states = await after.states();
    expect(states.get(interrupted)).toBe("INPROGRESS");
    const finalThen = finals(states);
    expect(finalThen).toEqual(expect.arrayContaining(finalBefore));
    for (const runId of finalThen) expect(await after.story(runId)).toEqual(await before.story(runId));

    // The key of a worker that is no server's own has come along.
    await after.ask("PUT", `/agent/environments/${environment_id}`, { ...body, variables: { GO: "yes" } });
    const args = [
      "worker",
      "--server",
      calm.origin,
      "--name",
      "rack",
      "--data-dir",
      join(target.dataDir, "rack"),
    ];
    const worker = run(args, { OUTRIDER_WORKER_KEY: workerKey, ...repositories });
    await vi.waitUntil(async () => finals(await after.states()).length === states.size, patience);
    expect([...new Set((await after.states()).values())]).toEqual(["SUCCEEDED"]);
    const { events } = await eventsOf(after, interrupted);
    expect(events.map(({ type }: { type: string }) => type)).toContain("run.recovering");
    expect(outputOf({ events })).toContain("kept");

    // Files that it goes on from, the build below them, and the secret.
    const [first] = finalBefore as [string];
    const built = outputOf(await eventsOf(before, first));
    const message = 'RUN: cat ~/built; printf %s "$TOKEN" | sha256sum; ls site';
    await after.ask("POST", `/agent/runs/${first}/followups`, { message });
    await vi.waitUntil(
      async () =>
        (await after.get(`/agent/runs/${first}`)).state === "SUCCEEDED" &&
        (await eventsOf(after, first)).events.some(({ turn }: { turn: number }) => turn === 2),
      patience,
    );
    const said = outputOf(await eventsOf(after, first));
    expect(said.slice(built.length)).toContain(built.trim());
    expect(said).toContain(createHash("sha256").update(SECRET).digest("hex"));
    expect(said).toMatch(/[0-9a-f-]{36}\.txt/);

    await before.ask("POST", `/agent/runs/${interrupted}/cancel`);
    await Promise.all([worker.end("SIGTERM"), busy.end("SIGTERM")]);
    await calm.end("SIGTERM");
    await Promise.all([expectNothingOn(target.dataDir), expectNothingOn(source.dataDir)]);
  });
});

test("a backup of a stopped installation starts its database for as long as it takes", async () => {
  const { dataDir, environment } = await makePlace("the own PostgreSQL");
  const server = await serve({ dataDir, environment: { ...environment, OUTRIDER_WORKERS: "0" } });
  await server.end("SIGTERM");
  const file = join(dataDir, "a.backup");
  const taken = await outrider(["backup", file], environment);
  expect(taken).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining("The master key is not in it"),
  });
  await expectNothingOn(dataDir);

  const elsewhere = await makePlace("the own PostgreSQL");
  const made = await outrider(["restore", file], elsewhere.environment);
  expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining("set OUTRIDER_MASTER_KEY") });
  const again = await outrider(["restore", file], elsewhere.environment);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("The database is not empty") });
  const masterKey = readFileSync(join(dataDir, "master.key"), "utf8").trim();
  const restored = { ...elsewhere.environment, OUTRIDER_WORKERS: "0", OUTRIDER_MASTER_KEY: masterKey };
  const next = await serve({ dataDir: elsewhere.dataDir, environment: restored });
  expect((await call("GET", `${next.origin}/api/v1/me`, { key: keyOf(dataDir) })).status).toBe(200);
  await next.end("SIGTERM");
});
