import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let workerKey: string;

beforeAll(async () => {
  server = await testServer();
  workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
  await server.call("PUT", "/agent/secrets/TOKEN", { body: { value: "user:token" } });
  await server.call("PUT", "/agent/secrets/SIGNING", { body: { value: "private key" } });
});
afterAll(() => server.stop());

const BUNDLE = "# v2 git bundle\n";
const bundle = { sha256: createHash("sha256").update(BUNDLE).digest("hex"), size_bytes: BUNDLE.length };
const usage = {
  ...{ input_tokens: 1, cached_input_tokens: 0, output_tokens: 2 },
  ...{ cost_usd: 0, steps: 1, run_seconds: 0 },
};
const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 100 };

const asWorker = (path: string, body: object) =>
  server.call("POST", `/worker${path}`, { body, key: workerKey });
const events = async (run: string) => (await server.call("GET", `/agent/runs/${run}/events`)).body.events;
const notices = async (run: string) =>
  (await events(run)).flatMap(({ type, data }: { type: string; data: { code?: string } }) =>
    type === "notice" ? [data.code] : [],
  );
const getRun = async (run: string) => (await server.call("GET", `/agent/runs/${run}`)).body;

let repositories = 0;

/** Creates an environment with a repository of its own. */
async function newEnvironment(publish: object = {}, more: object = {}) {
  const url = `https://git.test/acme/api-${++repositories}.git`;
  const repos = [{ url, path: "api", ref: "main", secret: "TOKEN", publish, ...more }];
  const reply = await server.call("POST", "/agent/environments", { body: { name: "e", repos } });
  return { environment_id: reply.body.environment_id as string, url, reply };
}

interface Started {
  run: string;
  execution: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read assignments of every shape
  assignment: any;
}

async function claim(run: string): Promise<Started> {
  const body = { request_id: randomUUID(), worker, free: 100, wait_ms: 0 };
  const { executions } = (await asWorker("/claim", body)).body;
  const assignment = executions.find(({ run_id }: { run_id: string }) => run_id === run);
  return { run, execution: assignment.execution_id, assignment };
}

async function start(environment_id: string, config: object = {}): Promise<Started> {
  const body = { prompt: "SAY: hi", title: "Fix the parser", config: { environment_id, ...config } };
  return claim((await server.call("POST", "/agent/run", { body })).body.run_id);
}

const newTip = () => createHash("sha1").update(randomUUID()).digest("hex");

function commitsOf(change: { files?: string[]; tip?: string; [field: string]: unknown } = {}) {
  const { files = ["src/a.ts"], tip = newTip(), ...more } = change;
  return {
    ...{ path: "api", base_commit: "a".repeat(40), tip, bundle, commits: 1, has_more_files: false },
    ...{
      files: files.map((path) => ({ path, status: "modified" })),
      diff_bytes: 10,
      secrets: [],
      problems: [],
    },
    ...more,
  };
}

async function uploadBundle() {
  await fetch(`${server.base}/worker/blobs/${bundle.sha256}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${workerKey}` },
    body: BUNDLE,
  });
}
beforeAll(uploadBundle);

async function publish({ run, execution }: Started, request: object, commits: object[] = [commitsOf()]) {
  const body = { run_id: run, request_id: randomUUID(), commits, ...request };
  const reply = await asWorker(`/executions/${execution}/publications`, body);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

const turnEnd = { trigger: "turn_end", outcome: "succeeded" };

async function finish({ run, execution }: Started, outcome: object = {}) {
  const body = {
    ...{ run_id: run, batch: 1, events: [], usage },
    outcome: { type: "succeeded", text: "Done.", ...outcome },
  };
  const reply = await asWorker(`/executions/${execution}/finish`, body);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

/** Executes a turn that changes a file. */
async function work(environment_id: string, { config = {}, commits = commitsOf() } = {}) {
  const started = await start(environment_id, config);
  const { publications, refusals } = await publish(started, turnEnd, [commits]);
  await finish(started);
  return { ...started, publications, refusals };
}

const request = (run: string, body: object = {}) =>
  server.call("POST", `/agent/runs/${run}/publications`, { body: { kind: "branch", ...body } });
const get = async (run: string, id: string) =>
  (await server.call("GET", `/agent/runs/${run}/publications/${id}`)).body;
const list = async (run: string) => (await server.call("GET", `/agent/runs/${run}/publications`)).body;
const take = (id: string, worker_id = worker.worker_id) =>
  asWorker(`/publications/${id}/take`, { worker_id });
const report = (id: string, token: string, outcome: object) =>
  asWorker(`/publications/${id}/finish`, { worker_id: worker.worker_id, token, outcome });
const pushed = (commit: string) => ({ type: "pushed", commit, is_forced: false, default_branch: "main" });

/** Takes a publication and reports that its commit is on the branch. */
async function push(id: string) {
  const taken = await take(id);
  expect(taken.status, taken.text).toBe(200);
  expect((await report(id, taken.body.token, pushed(taken.body.tip))).status).toBe(204);
  return taken.body;
}

describe("an assignment", () => {
  test("says what can be published, and does not contain `publish`", async () => {
    const { environment_id } = await newEnvironment({ publish: "branch", when: "on_success" });
    const { assignment, run } = await start(environment_id, { publish: "branch" });
    expect(assignment.publishing.repositories).toEqual([
      {
        ...{ path: "api", kind: "branch", when: "on_success", base: "main", on_base_moved: "none" },
        branch: `outrider/fix-the-parser-${run.slice(-8)}`,
        ...{ commit_uncommitted: true, max_diff_bytes: 5 * 1024 * 1024 },
      },
    ]);
    expect(assignment.agent_config).not.toHaveProperty("publish");
    expect(assignment.environment.repos[0]).not.toHaveProperty("publish");
    expect((await getRun(run)).agent_config.publish).toBe("branch");
  });

  test("has nothing to publish if the policy forbids it", async () => {
    const { environment_id } = await newEnvironment({ publish: "none" });
    expect((await start(environment_id)).assignment).not.toHaveProperty("publishing");
  });
});

describe("configuration", () => {
  test("rejects a kind that no repository allows", async () => {
    const { environment_id } = await newEnvironment({ publish: "branch" });
    for (const config of [{ environment_id, publish: "pull_request" }, { publish: "branch" }]) {
      const reply = await server.call("POST", "/agent/run", { body: { prompt: "SAY: hi", config } });
      expect(reply.status).toBe(400);
      expect(reply.body.errors).toMatchObject([{ pointer: "/config/publish" }]);
    }
  });

  test("requires that the signing secret exists, and keeps it while it is used", async () => {
    const missing = await newEnvironment({ signing_secret: "MISSING" });
    expect(missing.reply.status).toBe(400);
    expect(missing.reply.body.errors).toMatchObject([{ pointer: "/repos/0/publish/signing_secret" }]);
    await newEnvironment({ signing_secret: "SIGNING" });
    expect((await server.call("DELETE", "/agent/secrets/SIGNING")).status).toBe(409);
  });
});

describe("at the end of a turn", () => {
  test("changes are only stored by default, and can be downloaded and published later", async () => {
    const { environment_id, url } = await newEnvironment();
    const { run, publications } = await work(environment_id);
    expect(publications).toEqual([]);
    expect(await list(run)).toMatchObject({
      publications: [],
      publishable: [
        {
          ...{ path: "api", repository: url, kind: "draft_pull_request", title: "Fix the parser" },
          ...{ body: "Done.", files_changed: 1, is_published: false },
          problem: expect.stringContaining("No forge is connected for git.test"),
        },
      ],
    });
    const download = await server.call("GET", `/agent/runs/${run}/commits`);
    expect(download.headers.get("content-type")).toBe("application/x-git-bundle");
    expect(download.text).toBe(BUNDLE);
    const created = await request(run);
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ state: "QUEUED", kind: "branch", requested_by: { type: "user" } });
  });

  test("are published if the run or the policy wants it", async () => {
    const byRun = await newEnvironment({ publish: "branch" });
    const first = await work(byRun.environment_id, { config: { publish: "branch" } });
    expect(first.publications).toMatchObject([{ path: "api", state: "QUEUED", kind: "branch" }]);
    const byPolicy = await newEnvironment({ publish: "branch", when: "on_success" });
    const second = await work(byPolicy.environment_id);
    expect(second.publications).toMatchObject([{ state: "QUEUED" }]);
    expect((await getRun(second.run)).state).toBe("SUCCEEDED");
  });

  test("are pushed once, and later turns update the branch", async () => {
    const { environment_id, url } = await newEnvironment({ publish: "branch" });
    const first = await work(environment_id, { config: { publish: "branch" } });
    const [{ publication_id, branch }] = first.publications;
    const taken = await push(publication_id);
    expect(taken).toMatchObject({
      repository: { url, path: "api", secret: "TOKEN" },
      credentials: { TOKEN: "user:token" },
      ...{ bundle, branch, on_base_moved: "none", sign_off: false, base: "main" },
    });
    expect(taken).not.toHaveProperty("expected");
    expect(await get(first.run, publication_id)).toMatchObject({ state: "DONE", commit: taken.tip });
    const log = await events(first.run);
    expect(log.at(-1)).toMatchObject({
      type: "branch.pushed",
      data: { repository: url, path: "api", branch, commit: taken.tip },
    });

    await server.call("POST", `/agent/runs/${first.run}/followups`, { body: { message: "more" } });
    const second = await claim(first.run);
    expect(second.assignment.publishing.repositories[0]).toMatchObject({
      branch,
      published: { tip: taken.tip, commit: taken.tip },
    });
    // The same commits again change nothing.
    expect((await publish(second, turnEnd, [commitsOf({ tip: taken.tip })])).publications).toEqual([]);
    const { publications } = await publish(second, turnEnd);
    expect(publications).toMatchObject([{ state: "QUEUED", branch }]);
    expect((await push(publications[0].publication_id)).expected).toBe(taken.tip);
  });

  test("a repeated request has no further effect", async () => {
    const { environment_id } = await newEnvironment({ publish: "branch" });
    const started = await start(environment_id, { publish: "branch" });
    const repeated = { ...turnEnd, request_id: randomUUID() };
    const commits = [commitsOf({ files: [".github/workflows/ci.yml"] })];
    const first = await publish(started, repeated, commits);
    expect(await publish(started, repeated, commits)).toEqual(first);
    expect(first.refusals).toMatchObject([{ path: "api" }]);
    expect(await notices(started.run)).toEqual(["publication_refused"]);
    expect((await list(started.run)).publications).toMatchObject([{ state: "FAILED" }]);
  });

  test("a push of the agent becomes what the run wants", async () => {
    const { environment_id } = await newEnvironment({ publish: "branch" });
    const started = await start(environment_id, { publish: "branch" });
    const commits = commitsOf();
    const first = await publish(started, { trigger: "push" }, [commits]);
    expect(first.publications).toMatchObject([{ state: "QUEUED", kind: "branch" }]);
    expect((await publish(started, turnEnd, [])).publications).toEqual([]);
    const again = await publish(started, { trigger: "push" }, [commits]);
    expect(again.publications).toMatchObject([{ publication_id: first.publications[0].publication_id }]);
    const ids = [first.publications[0].publication_id];
    const asked = await asWorker(`/executions/${started.execution}/publications/list`, {
      run_id: started.run,
      publication_ids: ids,
    });
    expect(asked.body.publications).toMatchObject([{ publication_id: ids[0], state: "QUEUED" }]);
  });

  test("says so if the worker is too old", async () => {
    const { environment_id } = await newEnvironment({ publish: "branch" });
    const old = await start(environment_id, { publish: "branch" });
    await finish(old);
    expect(await notices(old.run)).toEqual(["publication_failed"]);
    expect((await getRun(old.run)).state).toBe("SUCCEEDED");
    const current = await start(environment_id, { publish: "branch" });
    await publish(current, turnEnd, []);
    await finish(current);
    expect(await notices(current.run)).toEqual([]);
  });

  test("requires that bundles are uploaded", async () => {
    const { environment_id } = await newEnvironment();
    const { run, execution } = await start(environment_id);
    const commits = [commitsOf({ bundle: { sha256: "0".repeat(64), size_bytes: 1 } })];
    const body = { run_id: run, request_id: randomUUID(), ...turnEnd, commits };
    expect((await asWorker(`/executions/${execution}/publications`, body)).status).toBe(400);
  });
});

describe("a request of a user", () => {
  test("uses what the agent proposed", async () => {
    const { environment_id } = await newEnvironment({ publish: "branch" });
    const started = await start(environment_id);
    const commits = commitsOf({ files: ["Jenkinsfile"] });
    await publish(started, { trigger: "agent", title: "Rewrite", body: "Why" }, [commits]);
    const { publishable } = await list(started.run);
    expect(publishable).toMatchObject([{ title: "Rewrite", body: "Why" }]);
    await publish(started, { trigger: "agent", title: " Write\n tests", body: " " }, [commits]);
    expect((await list(started.run)).publishable).toMatchObject([{ title: "Write tests", body: "Why" }]);
  });

  test("is rejected if it violates the policy", async () => {
    const { environment_id } = await newEnvironment({ publish: "branch" });
    const { run } = await work(environment_id);
    const pointers = async (body: object) => {
      const reply = await request(run, body);
      return [reply.status, reply.body.errors?.[0]?.pointer];
    };
    expect(await pointers({ kind: "pull_request" })).toEqual([400, "/kind"]);
    expect(await pointers({ branch: "main" })).toEqual([400, "/branch"]);
    expect(await pointers({ path: "other" })).toEqual([400, "/path"]);
    const none = await newEnvironment({ publish: "none" });
    const refused = await work(none.environment_id);
    expect((await request(refused.run)).status).toBe(409);
    const large = await work(environment_id, { commits: commitsOf({ diff_bytes: 10_000_000 }) });
    const reply = await request(large.run);
    expect(reply.status).toBe(409);
    expect(reply.body.detail).toContain("9.5 MiB");
    const [{ problem }] = (await list(large.run)).publishable;
    expect(problem).toBe(reply.body.detail);
  });

  test("for a pull request requires a connected forge", async () => {
    const { environment_id } = await newEnvironment();
    const { run } = await work(environment_id);
    const reply = await request(run, { kind: "draft_pull_request" });
    expect(reply.status).toBe(409);
    expect(reply.body.detail).toContain("No forge is connected for git.test");
  });

  test("for a branch requires a credential", async () => {
    const { environment_id } = await newEnvironment({}, { secret: undefined });
    const { run } = await work(environment_id);
    expect((await request(run)).body.detail).toContain("no credential that can push");
  });

  test("for an ssh URL requires a secret, even if the forge is connected", async () => {
    await server.db`
      insert into forges (forge_id, type, host, url, api_url, auth, login, sealed, created_by)
      values (${randomUUID()}, 'gitea', 'ssh.test', 'https://ssh.test', 'https://ssh.test/api/v1', '{"type": "token"}',
        'bot', '', ${randomUUID()})`;
    const { environment_id } = await newEnvironment(
      {},
      { secret: undefined, url: "git@ssh.test:acme/api.git" },
    );
    const { run } = await work(environment_id);
    expect((await request(run)).body.detail).toContain("Use the https URL");
  });

  test("for the branch of another run says which run has it", async () => {
    const { environment_id } = await newEnvironment({ publish: "branch" });
    const [one, two] = [await work(environment_id), await work(environment_id)];
    const branch = "outrider/shared";
    expect((await request(one.run, { branch })).status).toBe(201);
    const reply = await request(two.run, { branch });
    expect(reply.status).toBe(409);
    expect(reply.body.detail).toContain(one.run);
    // A branch that was not pushed can be exchanged, and is free when its run is deleted.
    expect((await request(one.run, { branch: "outrider/other" })).status).toBe(201);
    expect((await request(two.run, { branch })).status).toBe(201);
    const [{ publication_id }] = (await list(two.run)).publications;
    await push(publication_id);
    expect((await request(two.run, { branch: "outrider/new" })).status).toBe(409);
    expect((await server.call("DELETE", `/agent/runs/${two.run}`)).status).toBe(204);
    expect((await request(one.run, { branch })).status).toBe(201);
  });

  test("is superseded by newer commits, unless a worker has tried to push it", async () => {
    const { environment_id } = await newEnvironment({ publish: "branch", when: "on_success" });
    const { run, publications } = await work(environment_id);
    const [first] = publications;
    await server.call("POST", `/agent/runs/${run}/followups`, { body: { message: "more" } });
    const second = await claim(run);
    const [next] = (await publish(second, turnEnd)).publications;
    expect((await get(run, first.publication_id)).state).toBe("SUPERSEDED");
    const taken = (await take(next.publication_id)).body;
    const [third] = (await publish(second, turnEnd)).publications;
    // The branch must not be pushed in another order.
    expect((await take(third.publication_id)).status).toBe(409);
    await report(next.publication_id, taken.token, pushed(taken.tip));
    expect((await take(third.publication_id)).body).toMatchObject({ expected: taken.tip });
  });
});

describe("a publication that a worker takes", () => {
  async function queued() {
    const { environment_id } = await newEnvironment({
      ...{ publish: "branch", sign_off: true, signing_secret: "SIGNING" },
      co_author: { name: "Ada", email: "ada@example.com" },
    });
    const { run, publications } = await work(environment_id, { config: { publish: "branch" } });
    return { run, id: publications[0].publication_id as string, environment_id };
  }

  test("is listed in the signals until then", async () => {
    const { id } = await queued();
    const signals = async () => {
      const response = await fetch(`${server.base}/worker/signals?worker_id=${worker.worker_id}`, {
        headers: { authorization: `Bearer ${workerKey}`, accept: "text/event-stream" },
      });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const { value } = await reader.read();
      await reader.cancel();
      return new TextDecoder().decode(value);
    };
    // Other tests leave publications behind, and only the ones that have waited longest are listed.
    await server.db`update publications set next_attempt_at = '2000-01-01' where publication_id = ${id}`;
    expect(await signals()).toContain(id);
    await take(id);
    expect(await signals()).not.toContain(id);
  });

  test("belongs to that worker only", async () => {
    const { run, id } = await queued();
    const other = { ...worker, worker_id: randomUUID() };
    await asWorker("/heartbeat", { worker: other, executions: [] });
    const replies = await Promise.all([take(id), take(id, other.worker_id)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409]);
    const winner = replies.find(({ status }) => status === 200);
    expect(winner?.body).toMatchObject({
      ...{ signing_key: "private key", sign_off: true },
      co_author: { name: "Ada", email: "ada@example.com" },
    });
    const isFirst = replies[0] === winner;
    const holder = isFirst ? worker.worker_id : other.worker_id;
    expect((await take(id, holder)).body.token).toBe(winner?.body.token);
    const finishAs = (worker_id: string, token: string) =>
      asWorker(`/publications/${id}/finish`, { worker_id, token, outcome: pushed("b".repeat(40)) });
    expect((await finishAs(holder, randomUUID())).status).toBe(409);
    expect((await get(run, id)).state).toBe("PUSHING");
    expect((await finishAs(holder, winner?.body.token)).status).toBe(204);
    expect((await finishAs(holder, winner?.body.token)).status).toBe(204);
    const types = (await events(run)).map(({ type }: { type: string }) => type);
    expect(types.filter((type: string) => type === "branch.pushed")).toHaveLength(1);
  });

  test("is retried after a temporary problem, and fails after another one", async () => {
    const { run, id } = await queued();
    const failed = { type: "failed", error_code: "repository_unreachable", message: "It is down." };
    const first = (await take(id)).body;
    await report(id, first.token, { ...failed, is_retryable: true });
    expect(await get(run, id)).toMatchObject({ state: "QUEUED", status_message: { message: "It is down." } });
    expect((await take(id)).status).toBe(409);
    await server.db`update publications set next_attempt_at = outrider_now() where publication_id = ${id}`;
    const second = (await take(id)).body;
    expect(second.token).not.toBe(first.token);
    expect((await report(id, first.token, pushed("b".repeat(40)))).status).toBe(409);
    await report(id, second.token, { type: "abandoned" });
    const third = (await take(id)).body;
    await report(id, third.token, { ...failed, is_retryable: false });
    expect(await get(run, id)).toMatchObject({ state: "FAILED", status_message: { message: "It is down." } });
    expect(await notices(run)).toEqual(["publication_failed"]);
  });

  test("fails if the environment no longer has a credential", async () => {
    const { run, id, environment_id } = await queued();
    const { url } = (await server.call("GET", `/agent/environments/${environment_id}`)).body.repos[0];
    const body = { name: "e", repos: [{ url, path: "api" }] };
    await server.call("PUT", `/agent/environments/${environment_id}`, { body });
    expect((await take(id)).status).toBe(409);
    expect(await get(run, id)).toMatchObject({
      state: "FAILED",
      status_message: { message: expect.stringContaining("no credential that can push") },
    });
  });
});
