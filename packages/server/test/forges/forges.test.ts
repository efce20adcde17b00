import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseRepositoryUrl, repositoryOf } from "../../src/engine/forges/repository-urls.ts";
import { type TestServer, testServer } from "../server.ts";
import { type GitHubStub, startGitHubStub } from "./github-stub.ts";

/** The API for forges, against a stub of GitHub Enterprise. */

let server: TestServer;
let github: GitHubStub;
let host: string;

beforeAll(async () => {
  github = await startGitHubStub();
  await github.addRepository("acme/api");
  await github.addRepository("acme/other");
  host = new URL(github.url).host;
  server = await testServer({
    OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1",
    OUTRIDER_PUBLIC_URL: "https://outrider.example",
  });
});
afterAll(async () => {
  await server.stop();
  await github.close();
  expect(github.violations).toEqual([]);
});

const connect = (token = github.token) =>
  server.call("POST", "/agent/forges", { body: { type: "github", url: `${github.url}/`, token } });

describe("connecting a forge", () => {
  test("with a token verifies it, and no response contains it", async () => {
    const { status, body, text } = await connect();
    expect(status).toBe(201);
    expect(body).toMatchObject({ type: "github", url: github.url, host, auth: "token", login: "octocat" });
    expect(text).not.toContain(github.token);
    const list = await server.call("GET", "/agent/forges");
    expect(list.body.forges).toEqual([body]);
    expect((await server.call("GET", `/agent/forges/${body.forge_id}`)).body).toEqual(body);
    const [row] = await server.db`select sealed, auth from forges`;
    expect(row?.sealed.toString("latin1")).not.toContain(github.token);
  });

  test("again replaces the token and keeps the ID", async () => {
    const first = await connect();
    expect((await connect()).body.forge_id).toBe(first.body.forge_id);
  });

  test("with a wrong token or address names the field", async () => {
    const wrong = await connect("ghp_wrong_token");
    expect(wrong.status).toBe(400);
    expect(wrong.body.errors).toMatchObject([{ pointer: "/token" }]);
    expect(wrong.text).not.toContain("ghp_wrong_token");
    const body = { type: "gitea", url: "http://127.0.0.2:1", token: "long-enough-token" };
    const refused = await server.call("POST", "/agent/forges", { body });
    expect(refused.body.errors).toMatchObject([{ pointer: "/url" }]);
    expect(refused.body.detail).toContain("OUTRIDER_ALLOW_ADDRESSES");
  });

  test("lists its repositories and tests the access to one", async () => {
    const { forge_id } = (await connect()).body;
    const list = await server.call("GET", `/agent/forges/${forge_id}/repositories?q=api`);
    expect(list.body.repositories).toMatchObject([{ repository: "acme/api", can_push: true }]);
    const tested = await server.call("POST", `/agent/forges/${forge_id}/test`, {
      body: { repository: "acme/api" },
    });
    expect(tested.body).toMatchObject({ repository: "acme/api", ok: true });
    expect((await server.call("GET", `/agent/forges/${forge_id}`)).body.last_test).toEqual(tested.body);
    const missing = await server.call("POST", `/agent/forges/${forge_id}/test`, {
      body: { repository: "acme/no" },
    });
    expect(missing.body).toMatchObject({
      ok: false,
      steps: [{ ok: true }, { step: "read_repository", ok: false }],
    });
  });

  test("ends when it is deleted", async () => {
    const { forge_id } = (await connect()).body;
    expect((await server.call("DELETE", `/agent/forges/${forge_id}`)).status).toBe(204);
    expect((await server.call("GET", `/agent/forges/${forge_id}`)).status).toBe(404);
    expect((await server.call("GET", `/agent/forges/${forge_id}/repositories`)).status).toBe(404);
    expect((await server.call("DELETE", `/agent/forges/${forge_id}`)).status).toBe(404);
  });
});

describe("a GitHub App", () => {
  const begin = async (body: object = { url: github.url }) =>
    (await server.call("POST", "/agent/forge-app-manifests", { body })).body;
  const complete = ({ manifest_id }: { manifest_id: string }, code: string, state: string) =>
    server.call("POST", `/agent/forge-app-manifests/${manifest_id}/complete`, { body: { code, state } });
  const stateOf = ({ action_url }: { action_url: string }) =>
    new URL(action_url).searchParams.get("state") as string;

  test("is created by the manifest flow, once", async () => {
    const started = await begin();
    expect(started.action_url).toMatch(new RegExp(`^${github.url}/settings/apps/new\\?state=`));
    expect(JSON.parse(started.manifest)).toMatchObject({
      url: "https://outrider.example",
      redirect_url: "https://outrider.example/settings/forges/github-app",
      public: false,
      default_permissions: { contents: "write", pull_requests: "write", checks: "read", metadata: "read" },
    });
    const state = stateOf(started);
    expect(state.startsWith(`${started.manifest_id}.`)).toBe(true);
    const code = github.newManifestCode();
    expect((await complete(started, code, "wrong")).status).toBe(409);
    const done = await complete(started, code, state);
    expect(done.status).toBe(201);
    expect(done.body).toMatchObject({
      auth: "app",
      login: "outrider-test[bot]",
      install_url: `${github.url}/apps/outrider-test/installations/new`,
    });
    expect(done.text).not.toContain("PRIVATE KEY");
    expect((await complete(started, github.newManifestCode(), state)).status).toBe(409);
    const tested = await server.call("POST", `/agent/forges/${done.body.forge_id}/test`, {
      body: { repository: "acme/api" },
    });
    expect(tested.body.steps.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  });

  test("is created for an organization, and not with a code that GitHub rejects or after an hour", async () => {
    const started = await begin({ url: github.url, organization: "acme" });
    expect(started.action_url).toContain("/organizations/acme/settings/apps/new?state=");
    const rejected = await complete(started, "nonsense", stateOf(started));
    expect([rejected.status, rejected.body.detail]).toEqual([422, expect.stringContaining("Start again")]);
    const late = await begin();
    await server.db`update forge_app_manifests set expires_at = outrider_now() where manifest_id = ${late.manifest_id}`;
    expect((await complete(late, github.newManifestCode(), stateOf(late))).status).toBe(409);
  });
});

describe("the credential of a repository", () => {
  const worker = { worker_id: randomUUID(), name: "worker", version: "0", slots: 10 };
  let forgeId: string;
  let workerKey: string;
  let url: string;
  let executionId: string;
  let repos: { url: string; forge_id?: string; secret?: string }[];
  const ask = (more: object = {}) =>
    server.call("POST", "/worker/repository-credentials", {
      key: workerKey,
      body: {
        worker_id: worker.worker_id,
        forge_id: forgeId,
        url,
        holder: { type: "execution", execution_id: executionId },
        ...more,
      },
    });

  beforeAll(async () => {
    forgeId = (await connect()).body.forge_id;
    workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
    url = `https://${host}/acme/api.git`;
    await server.call("PUT", "/agent/secrets/DEPLOY_KEY", { body: { value: "user:password" } });
    const environment = await server.call("POST", "/agent/environments", {
      body: {
        name: "api",
        repos: [
          { url },
          { url: `https://${host}/acme/other.git`, secret: "DEPLOY_KEY" },
          { url: "https://elsewhere.example/acme/api.git", path: "elsewhere" },
          { url: `git@${new URL(github.url).hostname}:acme/api.git`, path: "ssh" },
        ],
      },
    });
    const config = { environment_id: environment.body.environment_id };
    await server.call("POST", "/agent/run", { body: { prompt: "SAY: hi", config } });
    const claimed = await server.call("POST", "/worker/claim", {
      key: workerKey,
      body: { request_id: randomUUID(), worker, free: 1, wait_ms: 0 },
    });
    const [execution] = claimed.body.executions;
    executionId = execution.execution_id;
    repos = execution.environment.repos;
  });

  test("is announced for https repositories of the forge without a secret", () => {
    expect(repos.map(({ forge_id }) => forge_id)).toEqual([forgeId, undefined, undefined, undefined]);
  });

  test("is given to the worker that holds the run, for its repositories only", async () => {
    const { status, body } = await ask();
    expect([status, body]).toEqual([200, { credential: `x-access-token:${github.token}` }]);
    for (const other of [`https://${host}/acme/other.git`, `https://${host}/acme/secret.git`])
      expect((await ask({ url: other })).status).toBe(409);
    expect((await ask({ forge_id: randomUUID() })).status).toBe(409);
    const holder = { type: "build", build_id: randomUUID(), token: randomUUID() };
    expect((await ask({ holder })).status).toBe(409);
  });

  test("needs no call to the forge if it is a token", async () => {
    await github.pause();
    expect((await ask()).status).toBe(200);
    await github.resume();
  });
});

describe("the URL of a repository", () => {
  test.each([
    ["https://github.com/acme/api.git", "github.com", "acme/api"],
    ["https://GitHub.com/acme/api/", "github.com", "acme/api"],
    ["https://git.example:8443/a/b/c.git", "git.example:8443", "a/b/c"],
    ["git@github.com:acme/api.git", "github.com", "acme/api"],
    ["ssh://git@github.com:2222/acme/api.git", "github.com", "acme/api"],
  ])("%s is of a host and a path", (url, hostOfUrl, path) => {
    expect(parseRepositoryUrl(url)).toMatchObject({ host: hostOfUrl, path });
  });

  test("belongs to a forge if it is below its address", () => {
    expect(repositoryOf("acme/api", "https://github.com")).toEqual({ owner: "acme", name: "api" });
    expect(repositoryOf("git/acme/api", "https://example.com/git")).toEqual({ owner: "acme", name: "api" });
    expect(repositoryOf("acme/api", "https://example.com/git")).toBeUndefined();
    expect(repositoryOf("acme/../api", "https://github.com")).toBeUndefined();
    expect(parseRepositoryUrl("file:///srv/git/api.git")).toBeUndefined();
  });
});
