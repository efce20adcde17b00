import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "./server.ts";

let server: TestServer;
let workerKey: string;

beforeAll(async () => {
  server = await testServer();
  workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
});
afterAll(() => server.stop());

const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 100 };
const call = (path: string, body: object) => server.call("POST", `/worker${path}`, { body, key: workerKey });
const hash = (text: string) => createHash("sha256").update(text).digest("hex");
const claim = async () =>
  (await call("/claim", { request_id: randomUUID(), worker, free: 100, wait_ms: 0 })).body;

const environment = async (body: object = {}) =>
  (
    await server.call("POST", "/agent/environments", {
      body: { name: "site", setup_commands: ["make"], ...body },
    })
  ).body;

/** A run of the environment that a worker has. */
async function claimed(environment_id: string) {
  const { body } = await server.call("POST", "/agent/run", {
    body: { prompt: "SAY: hello", config: { environment_id } },
  });
  const { executions } = await claim();
  const execution = executions.find((one: { run_id: string }) => one.run_id === body.run_id);
  const prepare = async (key: string, more: object = {}) =>
    (
      await call(`/executions/${execution.execution_id}/prepare`, {
        run_id: body.run_id,
        worker_id: worker.worker_id,
        key: hash(key),
        repositories: [],
        ...more,
      })
    ).body;
  return { run_id: body.run_id as string, execution, prepare };
}

const ready = (key: string) => ({
  type: "ready",
  key: hash(key),
  sha256: hash(`files of ${key}`),
  size_bytes: 7,
  repositories: [],
});
const finish = (build: { build_id: string; token: string }, outcome: object) =>
  call(`/builds/${build.build_id}/finish`, { token: build.token, batch: 1, events: [], outcome });

describe("an environment that was not built before", () => {
  test("is built by the first run that wants it, while the others wait for it", async () => {
    const { environment_id } = await environment();
    const [first, second] = [await claimed(environment_id), await claimed(environment_id)];
    const mine = await first.prepare("one");
    expect(mine).toMatchObject({ state: "yours", lease_ms: 30_000 });
    expect(await second.prepare("one")).toEqual({ state: "building", build_id: mine.build_id });

    await call(`/builds/${mine.build_id}/report`, {
      token: mine.token,
      batch: 1,
      events: [
        { type: "step", data: { name: "make", state: "started" } },
        { type: "output", data: { stream: "stdout", text: "made\n" } },
      ],
    });
    expect((await finish(mine, ready("one"))).status).toBe(204);
    expect((await finish(mine, ready("one"))).status).toBe(204);
    const build = { build_id: mine.build_id, sha256: hash("files of one"), repositories: [] };
    expect(await second.prepare("one")).toEqual({ state: "ready", build });
    expect(await first.prepare("one")).toEqual({ state: "ready", build });

    const path = `/agent/environments/${environment_id}`;
    expect((await server.call("GET", path)).body.build).toMatchObject({ state: "READY", size_bytes: 7 });
    const { events } = (await server.call("GET", `${path}/builds/${mine.build_id}/events`)).body;
    expect(events).toMatchObject([
      { seq: 1, type: "step", data: { name: "make", state: "started" } },
      { seq: 2, type: "output", data: { text: "made\n" } },
    ]);
  });

  test("fails every run that waited for the build which failed, and is tried again by the next", async () => {
    const { environment_id } = await environment();
    const [first, second] = [await claimed(environment_id), await claimed(environment_id)];
    const mine = await first.prepare("two");
    const { build_id } = await second.prepare("two");
    await finish(mine, { type: "failed", error_code: "environment_setup_failed", message: "`make`: exit 2" });
    expect(await second.prepare("two", { waiting_for: build_id })).toMatchObject({
      state: "failed",
      status_message: { error_code: "environment_setup_failed", message: "`make`: exit 2", retryable: false },
    });
    const third = await claimed(environment_id);
    expect(await third.prepare("two")).toMatchObject({ state: "yours" });
  });

  test("goes to another worker when its maker's lease runs out, and the first may say nothing more", async () => {
    const { environment_id } = await environment();
    const [first, second] = [await claimed(environment_id), await claimed(environment_id)];
    const mine = await first.prepare("three");
    await server.db`update builds set lease_expires_at = outrider_now() where build_id = ${mine.build_id}`;
    const taken = await second.prepare("three");
    expect(taken).toMatchObject({ state: "yours", build_id: mine.build_id });
    expect(taken.token).not.toBe(mine.token);
    expect((await finish(mine, ready("three"))).status).toBe(409);
    expect((await finish(taken, ready("three"))).status).toBe(204);
  });
});

describe("where a branch has moved", () => {
  test("a run starts from the build before, and the newer one is made once, by whoever is free", async () => {
    const { environment_id } = await environment();
    const first = await claimed(environment_id);
    const old = await first.prepare("old");
    await finish(old, ready("old"));
    const second = await claimed(environment_id);
    expect(await second.prepare("new")).toMatchObject({ state: "ready", build: { build_id: old.build_id } });
    const third = await claimed(environment_id);
    expect(await third.prepare("new")).toMatchObject({ state: "ready", build: { build_id: old.build_id } });

    const { builds } = await claim();
    expect(builds).toMatchObject([{ environment: { environment_id, setup_commands: ["make"] } }]);
    expect((await claim()).builds).toEqual([]);
    await finish(builds[0], ready("new"));
    const fourth = await claimed(environment_id);
    expect(await fourth.prepare("new")).toMatchObject({
      state: "ready",
      build: { build_id: builds[0].build_id },
    });
  });

  test("a run keeps the build it started from in its later turns", async () => {
    const { environment_id } = await environment();
    const first = await claimed(environment_id);
    const build = await first.prepare("kept");
    await finish(build, ready("kept"));
    await first.prepare("kept");
    await server.call("POST", `/agent/runs/${first.run_id}/cancel`);
    await call(`/executions/${first.execution.execution_id}/close`, { run_id: first.run_id });
    await server.call("POST", `/agent/runs/${first.run_id}/followups`, { body: { message: "SAY: more" } });
    const { executions } = await claim();
    expect(executions).toMatchObject([
      { run_id: first.run_id, turn: 2, build: { build_id: build.build_id, sha256: hash("files of kept") } },
    ]);
  });
});

describe("a build that is asked for", () => {
  test("is queued, given to a worker, and can be followed", async () => {
    const { environment_id } = await environment({ network: { mode: "open" } });
    const path = `/agent/environments/${environment_id}/builds`;
    const asked = await server.call("POST", path);
    expect(asked).toMatchObject({ status: 201, body: { state: "QUEUED", version: 1, environment_id } });
    const [taken] = (await claim()).builds;
    expect(taken).toMatchObject({
      build_id: asked.body.build_id,
      environment: { network: { mode: "open" }, credentials: {} },
    });
    await finish(taken, { type: "failed", error_code: "environment_setup_failed", message: "no" });
    expect((await server.call("GET", path)).body.builds).toMatchObject([
      { state: "FAILED", status_message: { message: "no" } },
    ]);
    expect((await server.call("GET", `${path}/${randomUUID()}`)).status).toBe(404);
  });

  test("is refused where there is nothing to build", async () => {
    const { environment_id } = await environment({ setup_commands: [] });
    const { status, body } = await server.call("POST", `/agent/environments/${environment_id}/builds`);
    expect({ status, code: body.error_code }).toEqual({ status: 409, code: "conflict" });
  });

  test("gives up after as many lost workers as a run would", async () => {
    const { environment_id } = await environment();
    const { body } = await server.call("POST", `/agent/environments/${environment_id}/builds`);
    for (let attempt = 0; attempt < 3; attempt++) {
      expect((await claim()).builds).toHaveLength(1);
      await server.db`update builds set lease_expires_at = outrider_now() where build_id = ${body.build_id}`;
    }
    expect((await claim()).builds).toEqual([]);
    const build = await server.call("GET", `/agent/environments/${environment_id}/builds/${body.build_id}`);
    expect(build.body).toMatchObject({ state: "FAILED", status_message: { error_code: "worker_lost" } });
  });
});

describe("a repository's secret", () => {
  test("must exist, cannot be deleted while it is named, and travels to workers alone", async () => {
    const repos = [{ url: "https://git.test/a/b.git", secret: "TOKEN" }];
    const refused = await server.call("POST", "/agent/environments", { body: { name: "x", repos } });
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ pointer: "/repos/0/secret" }] } });
    await server.call("PUT", "/agent/secrets/TOKEN", { body: { value: "top-secret-token" } });
    const made = await environment({ repos });
    expect(JSON.stringify(made)).not.toContain("top-secret-token");
    expect((await server.call("DELETE", "/agent/secrets/TOKEN")).status).toBe(409);
    const { execution } = await claimed(made.environment_id);
    expect(execution.environment).toMatchObject({
      repos: [{ url: "https://git.test/a/b.git", path: "b", secret: "TOKEN" }],
      credentials: { TOKEN: "top-secret-token" },
    });
    expect(execution.secrets).toEqual({});
  });

  test.each([
    ["owner and repo", { owner: "acme", repo: "api" }, "https://github.com/acme/api.git", "api"],
    ["an ssh address", { url: "git@git.test:acme/web.git" }, "git@git.test:acme/web.git", "web"],
    ["a path", { url: "https://git.test/x", path: "deep/er" }, "https://git.test/x", "deep/er"],
  ])("of %s is found where it should be", async (_name, repo, url, path) => {
    const { environment_id } = await environment({ repos: [repo] });
    const { execution } = await claimed(environment_id);
    expect(execution.environment.repos).toMatchObject([{ url, path }]);
  });
});
