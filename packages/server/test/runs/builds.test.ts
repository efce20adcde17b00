import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let workerKey: string;

beforeAll(async () => {
  // Leases outlast the tests. Otherwise a slow test would claim the runs and builds of an earlier one.
  server = await testServer({ OUTRIDER_LEASE_SECONDS: "600" });
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

/** Creates a run in the environment and claims it. */
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
  test("is built by the first run that needs it, while other runs wait", async () => {
    const { environment_id } = await environment();
    const [first, second] = [await claimed(environment_id), await claimed(environment_id)];
    const mine = await first.prepare("one");
    expect(mine).toMatchObject({ state: "yours", lease_ms: 600_000 });
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
    const build = { build_id: mine.build_id, sha256: hash("files of one"), repositories: [], skills: [] };
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

  test("a failed build fails every run that waits for it, and the next run tries again", async () => {
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

  test("goes to another worker when the lease expires, and reports of the first worker are rejected", async () => {
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

describe("an environment with an image", () => {
  const docker_image = "debian:12";
  const image = { reference: docker_image, digest: `sha256:${hash("image")}` };

  test.for([
    { docker_image },
    { devcontainer: ".devcontainer.json", repos: [{ owner: "acme", repo: "site" }] },
  ])("is never prepared by a worker that does not know images (%o)", async (source) => {
    const { environment_id } = await environment(source);
    const key = `with ${Object.keys(source)}`;
    const status_message = { message: expect.stringContaining("Upgrade all workers") };
    const old = await claimed(environment_id);
    expect(await old.prepare("without image")).toMatchObject({ state: "failed", status_message });

    const run = await claimed(environment_id);
    const mine = await run.prepare(key, { image });
    await finish(mine, ready(key));
    expect(await run.prepare(key, { image, waiting_for: mine.build_id })).toMatchObject({
      state: "failed",
      status_message,
    });
    const again = await run.prepare(key, { image });
    await finish(again, { ...ready(key), image });
    expect(await run.prepare(key, { image })).toMatchObject({ state: "ready", build: { image } });
    expect(await old.prepare("without image")).toMatchObject({ state: "failed", status_message });

    // In a later turn, such a worker does not see the build, and therefore asks for one.
    await server.call("POST", `/agent/runs/${run.run_id}/cancel`);
    await call(`/executions/${run.execution.execution_id}/close`, { run_id: run.run_id });
    await server.call("POST", `/agent/runs/${run.run_id}/followups`, { body: { message: "SAY: more" } });
    const [continued] = (await claim()).executions;
    expect(continued).toMatchObject({ run_id: run.run_id, image_build: { build_id: again.build_id, image } });
    expect(continued).not.toHaveProperty("build");
  });
});

describe("when a branch has moved", () => {
  test("a run starts from the previous build, and a free worker makes the newer one once", async () => {
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

  test("a run keeps its build in later turns", async () => {
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

describe("a requested build", () => {
  test("is queued, assigned to a worker, and can be followed", async () => {
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

  test("has a log with pages of limited size", async () => {
    const { environment_id } = await environment();
    const path = `/agent/environments/${environment_id}/builds`;
    const { build_id } = (await server.call("POST", path)).body;
    const [{ token }] = (await claim()).builds;
    const text = Array.from({ length: 60_000 }, () => Math.random().toString(36)).join("");
    for (const batch of [1, 2, 3, 4, 5, 6]) {
      const events = [{ type: "output", data: { stream: "stdout", text } }];
      expect((await call(`/builds/${build_id}/report`, { token, batch, events })).status).toBe(204);
    }
    const read = async (after: number) =>
      (await server.call("GET", `${path}/${build_id}/events?after=${after}`)).body;
    const seqs: number[] = [];
    const first = await read(0);
    expect(first.events.length).toBeLessThan(6);
    for (let page = first; ; page = await read(Number(page.page_info.next_cursor))) {
      seqs.push(...page.events.map(({ seq }: { seq: number }) => seq));
      if (!page.page_info.has_next_page) break;
    }
    expect(seqs).toEqual([1, 2, 3, 4, 5, 6]);
    await finish(
      { build_id, token },
      { type: "failed", error_code: "environment_setup_failed", message: "no" },
    );
  });

  test("rejects a report with a gap, and writes a repeated one once", async () => {
    const { environment_id } = await environment();
    const path = `/agent/environments/${environment_id}/builds`;
    const { build_id } = (await server.call("POST", path)).body;
    const [{ token }] = (await claim()).builds;
    const events = [{ type: "notice", data: { message: "hi" } }];
    const report = async (batch: number) =>
      (await call(`/builds/${build_id}/report`, { token, batch, events })).status;
    expect([await report(2), await report(1), await report(1), await report(2)]).toEqual([
      409, 204, 204, 204,
    ]);
    expect((await server.call("GET", `${path}/${build_id}/events`)).body.events).toHaveLength(2);
    await finish(
      { build_id, token },
      { type: "failed", error_code: "environment_setup_failed", message: "no" },
    );
  });

  test("is returned again while it is queued or in progress", async () => {
    const { environment_id } = await environment();
    const path = `/agent/environments/${environment_id}`;
    const request = (key = server.key) => server.call("POST", `${path}/builds`, { key });
    const replies = await Promise.all([request(), request(), request(), request()]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
    const [build_id, ...others] = new Set(replies.map(({ body }) => body.build_id));
    expect(others).toEqual([]);

    const [taken] = (await claim()).builds;
    const other = await server.user("deduplicated@example.com");
    expect(await request(other)).toMatchObject({ status: 200, body: { build_id, state: "BUILDING" } });
    // A new version has other content.
    const changed = { name: "site", setup_commands: ["make all"] };
    await server.call("PUT", path, { body: changed });
    const newer = await request();
    expect(newer).toMatchObject({ status: 201, body: { version: 2 } });
    const [next] = (await claim()).builds;
    for (const build of [taken, next]) await finish(build, ready(randomUUID()));
    const repeated = await request();
    expect(repeated.status).toBe(201);
    await finish((await claim()).builds[0], ready(randomUUID()));
  });

  test("that a run needs is returned too", async () => {
    const { environment_id } = await environment();
    const { build_id, token } = await (await claimed(environment_id)).prepare("needed");
    const asked = await server.call("POST", `/agent/environments/${environment_id}/builds`);
    expect(asked).toMatchObject({ status: 200, body: { build_id } });
    await finish({ build_id, token }, ready("needed"));
  });

  test("is rejected while its user has too many, including those of cloud agents", async () => {
    const key = await server.user("eager@example.com");
    const body = { name: "bot" };
    const { uid } = (await server.call("POST", "/agent/identities", { key, body })).body;
    const agent = { name: "k", type: "agent", agent_uid: uid };
    const agentKey = (await server.call("POST", "/keys", { key, body: agent })).body.key;
    const environments = await Promise.all(Array.from({ length: 8 }, () => environment()));
    const request = (index: number, used = key) =>
      server.call("POST", `/agent/environments/${environments[index].environment_id}/builds`, { key: used });
    const replies = await Promise.all(
      environments.map((_, index) => request(index, index % 2 === 0 ? key : agentKey)),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 201, 429, 429, 429]);
    const rejected = replies.findIndex(({ status }) => status === 429);
    expect(replies[rejected]?.body).toMatchObject({ error_code: "rate_limited", retryable: true });
    expect(replies[rejected]?.body.detail).toContain("5 unfinished builds");
    expect(Number(replies[rejected]?.headers.get("retry-after"))).toBeGreaterThan(0);
    // An existing build is returned, and another user is not affected.
    expect((await request(replies.findIndex(({ status }) => status === 201))).status).toBe(200);
    expect((await request(rejected, server.key)).status).toBe(201);

    await finish((await claim()).builds[0], ready(randomUUID()));
    const next = replies.findIndex(({ status }, index) => status === 429 && index !== rejected);
    expect((await request(next)).status).toBe(201);
    for (let [build] = (await claim()).builds; build; [build] = (await claim()).builds)
      await finish(build, ready(randomUUID()));
  });

  test("is rejected if there is nothing to build", async () => {
    const { environment_id } = await environment({ setup_commands: [] });
    const { status, body } = await server.call("POST", `/agent/environments/${environment_id}/builds`);
    expect({ status, code: body.error_code }).toEqual({ status: 409, code: "conflict" });
  });

  test("fails after as many lost workers as a run", async () => {
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

  test("that a run needs fails after as many attempts", async () => {
    const { prepare } = await claimed((await environment()).environment_id);
    for (let attempt = 0; attempt < 3; attempt++) {
      const { state, build_id } = await prepare("lost");
      expect(state).toBe("yours");
      await server.db`update builds set lease_expires_at = outrider_now() where build_id = ${build_id}`;
    }
    expect(await prepare("lost")).toMatchObject({
      state: "failed",
      status_message: { error_code: "worker_lost" },
    });
  });
});

describe("a repository's secret", () => {
  test("must exist, cannot be deleted while in use, and is sent only to workers", async () => {
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

  test("and a build's secrets and variables reach the worker with the build, not with the run", async () => {
    await server.call("PUT", "/agent/secrets/NPM_TOKEN", { body: { value: "npm-secret-token" } });
    const { environment_id } = await environment({
      build_secrets: ["NPM_TOKEN"],
      variables: { REGISTRY: "internal" },
    });
    const expected = {
      build_secrets: { NPM_TOKEN: "npm-secret-token" },
      variables: { REGISTRY: "internal" },
      credentials: {},
    };
    const { execution } = await claimed(environment_id);
    expect(execution.environment).toMatchObject(expected);
    expect(execution.secrets).toEqual({});
    await server.call("POST", `/agent/environments/${environment_id}/builds`);
    const [build] = (await claim()).builds;
    expect(build.environment).toMatchObject(expected);
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
