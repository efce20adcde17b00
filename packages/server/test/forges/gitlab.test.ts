import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { GitLabClient } from "../../src/forges/gitlab.ts";
import { OutboundNetwork } from "../../src/outbound/outbound-network.ts";

/**
 * The requests of the client for GitLab, against fixed responses in the form that GitLab documents. No real GitLab has
 * been tested.
 */

// biome-ignore lint/suspicious/noExplicitAny: responses have every shape
type Json = any;

let server: Server;
let network: OutboundNetwork;
let client: GitLabClient;
let replies: Record<string, Json>;
let requests: { route: string; query: string; body: Json }[];
let status: { code: number; headers: Record<string, string> };

const repo = { owner: "acme/tools", name: "api" };
const project = "/projects/acme%2Ftools%2Fapi";
const merge = {
  iid: 3,
  web_url: "https://gitlab.example/acme/tools/api/-/merge_requests/3",
  state: "opened",
  draft: true,
  title: "Draft: Fix it",
  source_branch: "outrider/fix-1",
  target_branch: "main",
  sha: "a".repeat(40),
  has_conflicts: false,
  updated_at: "2026-01-01T00:00:00Z",
  source_project_id: 1,
  target_project_id: 1,
};

beforeEach(async () => {
  replies = {};
  requests = [];
  status = { code: 200, headers: {} };
  server = createServer(async (request, response) => {
    const { pathname, search } = new URL(request.url ?? "/", "http://localhost");
    const route = `${request.method} ${pathname.replace("/api/v4", "")}`;
    let text = "";
    for await (const chunk of request) text += chunk;
    requests.push({ route, query: decodeURIComponent(search), body: text ? JSON.parse(text) : undefined });
    const isKnown = route in replies && request.headers["private-token"] === "glpat-token";
    const reply = isKnown ? replies[route] : { message: "404 Not Found" };
    const code = status.code === 200 && !isKnown ? 404 : status.code;
    const isText = typeof reply === "string";
    response.writeHead(code, {
      "content-type": isText ? "text/plain" : "application/json",
      ...status.headers,
    });
    response.end(isText ? reply : JSON.stringify(reply));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  network = new OutboundNetwork({ allowedAddresses: "127.0.0.1" });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new GitLabClient({ url, token: "glpat-token", network });
});
afterEach(async () => {
  await network.close();
  server.close().closeAllConnections();
});

test("opens a merge request as a draft with labels and reviewers that exist", async () => {
  replies[`GET ${project}/labels/bug`] = { id: 1, name: "bug" };
  replies["GET /users"] = [{ id: 7, username: "ada" }];
  replies[`POST ${project}/merge_requests`] = merge;
  const created = await client.createPullRequest(repo, {
    branch: "outrider/fix-1",
    base: "main",
    title: "Fix it",
    body: "What was done",
    draft: true,
    labels: ["bug", "nope"],
    reviewers: ["ada"],
  });
  expect(created).toMatchObject({ number: 3, state: "draft", title: "Fix it", mergeable: true });
  expect(created.warnings).toEqual(["The label “nope” was not added: does not exist."]);
  expect(requests.at(-1)?.body).toEqual({
    source_branch: "outrider/fix-1",
    target_branch: "main",
    title: "Draft: Fix it",
    description: "What was done",
    labels: "bug",
    reviewer_ids: [7],
  });
});

test("finds, reads, updates and closes a merge request", async () => {
  replies[`GET ${project}/merge_requests`] = [merge];
  replies[`GET ${project}/merge_requests/3`] = merge;
  replies[`PUT ${project}/merge_requests/3`] = { ...merge, state: "closed" };
  expect(await client.findPullRequest(repo, { branch: "outrider/fix-1" })).toMatchObject({ number: 3 });
  expect(requests[0]?.query).toContain("source_branch=outrider/fix-1");
  expect(await client.updatePullRequest(repo, 3, { title: "New", state: "closed" })).toMatchObject({
    state: "closed",
  });
  expect(requests.at(-1)?.body).toEqual({ title: "Draft: New", state_event: "close" });
  const first = await client.readPullRequest(repo, 3, {});
  if (first.isUnchanged) return expect.fail("it has not been read before");
  expect(await client.readPullRequest(repo, 3, { etag: first.etag as string })).toEqual({
    isUnchanged: true,
  });
});

test("lists comments with file, line and whether the author may push", async () => {
  const note = { system: false, created_at: "2026-01-01T00:00:00Z" };
  const position = { new_path: "fix.txt", new_line: 7 };
  replies[`GET ${project}/merge_requests/3/notes`] = [
    { id: 2, body: "Rename it", author: { id: 7, username: "ada" }, position, ...note },
    { id: 1, body: "assigned", author: { id: 7, username: "ada" }, ...note, system: true },
    { id: 0, body: "Do my bidding", author: { id: 8, username: "eve" }, ...note },
  ];
  replies[`GET ${project}/members/all/7`] = { id: 7, access_level: 40 };
  replies[`GET ${project}/members/all/8`] = { id: 8, access_level: 20 };
  expect(await client.listComments(repo, 3, {})).toMatchObject({
    comments: [
      { author: "eve", isTrusted: false, kind: "comment" },
      { author: "ada", isTrusted: true, kind: "review_comment", path: "fix.txt", line: 7 },
    ],
  });
});

test("lists failed jobs with the end of their log", async () => {
  const commit = "a".repeat(40);
  replies[`GET ${project}/repository/commits/${commit}/statuses`] = [
    { id: 5, name: "test", status: "failed", allow_failure: false, target_url: "https://gitlab.example/5" },
    { id: 6, name: "flaky", status: "failed", allow_failure: true },
    { id: 7, name: "deploy", status: "running" },
  ];
  replies[`GET ${project}/jobs/5/trace`] = "line 1\nthe test failed\n";
  expect(await client.listFailedChecks(repo, commit, {})).toMatchObject({
    isComplete: false,
    checks: [{ name: "test", conclusion: "failed", log_tail: "line 1\nthe test failed" }],
  });
});

test("reports a rate limit and a revoked token", async () => {
  status = { code: 429, headers: { "retry-after": "20" } };
  const limited = await client.identify().catch((error) => error);
  expect(limited).toMatchObject({ code: "rate_limited", retryAfterMs: 20_000 });
  expect(requests).toHaveLength(1);
  status = { code: 401, headers: {} };
  expect(await client.identify().catch((error) => error)).toMatchObject({ code: "unauthorized" });
});

test("lists and reads projects, and gives git the token", async () => {
  const api = {
    path_with_namespace: "acme/tools/api",
    default_branch: "main",
    visibility: "private",
    archived: false,
    permissions: { project_access: null, group_access: { access_level: 30 } },
  };
  replies["GET /projects"] = [api];
  replies[`GET ${project}`] = api;
  expect(await client.listRepositories({ query: "api" })).toEqual({
    repositories: [
      { repository: "acme/tools/api", default_branch: "main", can_push: true, is_private: true },
    ],
    has_more: false,
  });
  expect(await client.getRepository(repo)).toMatchObject({ default_branch: "main", can_push: true });
  expect(await client.gitCredential()).toEqual({ credential: "oauth2:glpat-token" });
});
