import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { startTestInstallation, type TestInstallation } from "../installation.ts";
import { git, type HttpServer, makeFolder, Origin, serveHttp } from "../repositories/git-server.ts";

/** Proposals end to end: a git server, a server and a worker. */

const origins = makeFolder();
const SECRET = "PROPOSAL_TOKEN";
const LOGIN = "bob:a-long-password";
let installation: TestInstallation;
let gitServer: HttpServer;

beforeAll(async () => {
  gitServer = await serveHttp(origins.folder, LOGIN);
  installation = await startTestInstallation();
  await installation.call("PUT", `/agent/secrets/${SECRET}`, { body: { value: LOGIN } });
});
afterAll(async () => {
  await installation?.stop();
  await gitServer?.stop();
  origins.remove();
});

const startWorker = (slots = 1) =>
  installation.worker({ slots, repositoryPaths: [origins.folder], allowedAddresses: "127.0.0.1" });

const request = (repository: object) =>
  installation.call("POST", "/agent/environment-proposals", { body: { repository } });
const get = async (id: string) => (await installation.call("GET", `/agent/environment-proposals/${id}`)).body;

async function propose(repository: object) {
  const { body } = await request(repository);
  expect(body).toMatchObject({ state: "QUEUED" });
  return vi.waitUntil(async () => {
    const proposal = await get(body.proposal_id);
    return ["READY", "FAILED"].includes(proposal.state) ? proposal : undefined;
  }, waitOptions);
}

function makeOrigin(files: Record<string, string>) {
  const name = `origin-${randomUUID()}`;
  const origin = new Origin(origins.folder, name);
  git(origin.bare, "config", "uploadpack.allowFilter", "true");
  return { commit: origin.push("main", files), url: `file://${origin.bare}`, name, origin };
}

describe("a proposal", () => {
  test("is read by a worker whose slots are all in use", async () => {
    const worker = await startWorker();
    onTestFinished(() => worker.drain());
    const run = await installation.create(["RUN: sleep 600"]);
    await installation.event(run, ({ type }) => type === "command.started");
    const { url, commit } = makeOrigin({
      "package-lock.json": "{}",
      ".nvmrc": "20\n",
      "docs/requirements.txt": "",
      "media/film": "x".repeat(100_000),
    });
    const proposal = await propose({ url });
    expect(proposal).toMatchObject({
      commit,
      settings: {
        docker_image: "node:20-bookworm",
        setup_commands: ["npm ci"],
        network: { mode: "allowlist", allow: ["preset:npm"] },
      },
      reasons: expect.arrayContaining([
        { field: "docker_image", message: "`node:20-bookworm`: `.nvmrc` names Node.js 20." },
      ]),
    });
    await installation.call("POST", `/agent/runs/${run}/cancel`);
  });

  test("reads the ref that is named, and no file says so", async () => {
    const worker = await startWorker();
    onTestFinished(() => worker.drain());
    const { url, origin } = makeOrigin({ "go.mod": "module a\n\ngo 1.23\n" });
    const commit = origin.push("empty", { "go.mod": "" }, "--amend");
    origin.run("rm", "--quiet", "go.mod");
    const empty = origin.push("empty", { "README.md": "nothing else" });
    expect(await propose({ url })).toMatchObject({ settings: { docker_image: "golang:1.23-bookworm" } });
    expect(await propose({ url, ref: commit })).toMatchObject({
      settings: { docker_image: "golang:1-bookworm" },
    });
    expect(await propose({ url, ref: "empty" })).toMatchObject({
      ...{ state: "READY", commit: empty },
      ...{ settings: { setup_commands: [] }, reasons: [] },
    });
  });

  test("fails with the error of the repository, without its credential", async () => {
    const worker = await startWorker();
    onTestFinished(() => worker.drain());
    const { url } = makeOrigin({ "Cargo.lock": "" });
    const unknown = await propose({ url, ref: "nope" });
    expect(unknown).toMatchObject({
      state: "FAILED",
      status_message: { error_code: "environment_setup_failed", message: expect.stringContaining("nope") },
    });
    const refused = await propose({ url: `https://${gitServer.host}/nope.git`, secret: SECRET });
    expect(refused.state).toBe("FAILED");
    expect(refused.status_message.message).toContain(gitServer.host);
    expect(JSON.stringify(refused)).not.toContain("a-long-password");
  });

  test("is read by the next worker if the first one stops", async () => {
    const { url } = makeOrigin({ "Cargo.lock": "" });
    const other = { worker_id: randomUUID(), name: "other", version: "0", slots: 1 };
    const asWorker = async (path: string, body: object) => {
      const response = await fetch(`${installation.origin}/api/v1/worker${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${installation.workerKey}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return { status: response.status, text: await response.text() };
    };
    await asWorker("/heartbeat", { worker: other, executions: [] });
    const { proposal_id } = (await request({ url })).body;
    const path = `/proposals/${proposal_id}`;
    const take = () => asWorker(`${path}/take`, { worker_id: other.worker_id });
    const first = await take();
    expect(JSON.parse(first.text)).toMatchObject({ repository: { url }, credentials: {} });
    expect(await take()).toEqual(first); // A repeated request has the same result.
    expect((await asWorker(`${path}/take`, { worker_id: randomUUID() })).status).toBe(409);
    expect((await get(proposal_id)).state).toBe("READING");

    const abandoned = { worker_id: other.worker_id, outcome: { type: "abandoned" } };
    expect((await asWorker(`${path}/finish`, abandoned)).status).toBe(204);
    expect((await asWorker(`${path}/finish`, abandoned)).status).toBe(409);
    const worker = await startWorker();
    onTestFinished(() => worker.drain());
    await vi.waitUntil(async () => (await get(proposal_id)).state === "READY", waitOptions);
  });

  test("fails if no worker takes it, and is deleted later", async () => {
    const { proposal_id } = (await request({ owner: "acme", repo: "api" })).body;
    const age = (interval: string) => installation.db`
      update environment_proposals set created_at = created_at - ${interval}::interval
      where proposal_id = ${proposal_id}`;
    await age("2 minutes");
    expect(await get(proposal_id)).toMatchObject({
      state: "FAILED",
      status_message: { message: expect.stringContaining("No worker has read the repository.") },
    });
    await age("1 hour");
    await installation.restart();
    await vi.waitUntil(async () => (await get(proposal_id)).error_code === "resource_not_found", waitOptions);
  });

  test("is rejected if its secret does not exist or a user has too many", async () => {
    expect((await request({ owner: "acme", repo: "api", secret: "NOPE" })).body).toMatchObject({
      errors: [{ pointer: "/repository/secret" }],
    });
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => request({ owner: "acme", repo: "api" })),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(replies.find(({ status }) => status !== 201)?.body).toMatchObject({ error_code: "rate_limited" });
    await installation.db`delete from environment_proposals`;
  });
});
