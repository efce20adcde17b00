import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { GiteaClient } from "../../src/forges/gitea.ts";
import { OutboundNetwork } from "../../src/outbound/outbound-network.ts";
import { git } from "./git-backend.ts";
import { type Gitea, startGitea } from "./gitea.ts";

/** The client of Gitea against a real Gitea. */

let gitea: Gitea;
let network: OutboundNetwork;
let client: GiteaClient;
let repo: { owner: string; name: string };
let repositories = 0;

const open = (token: string) => new GiteaClient({ url: gitea.url, token, network });
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail("it succeeded"),
    (error) => error,
  );

beforeAll(async () => {
  gitea = await startGitea();
  network = new OutboundNetwork({ allowedAddresses: "127.0.0.1" });
  client = open(gitea.token);
}, 25 * 60_000);
afterAll(async () => {
  await network?.close();
  await gitea?.close();
});
beforeEach(async () => {
  repo = { owner: "tester", name: `api-${++repositories}` };
  await gitea.call(gitea.token, "POST", "/user/repos", {
    name: repo.name,
    auto_init: true,
    default_branch: "main",
    private: true,
  });
});

const at = (path: string) => `/repos/${repo.owner}/${repo.name}${path}`;
const newPull = {
  branch: "outrider/fix-1",
  base: "main",
  title: "Fix it",
  body: "What was done",
  draft: true,
  labels: [] as string[],
  reviewers: [] as string[],
};

async function pushBranch(): Promise<void> {
  await gitea.call(gitea.token, "POST", at("/contents/fix.txt"), {
    branch: "main",
    new_branch: newPull.branch,
    message: "Fix",
    content: Buffer.from("one\ntwo\nthree\n").toString("base64"),
  });
}

test("a pull request is opened as a draft, found, updated, closed, reopened and merged", async () => {
  await pushBranch();
  expect(await client.identify()).toEqual({ login: "tester", kind: "user" });
  expect(await client.findPullRequest(repo, newPull)).toBeUndefined();
  const created = await client.createPullRequest(repo, newPull);
  expect(created).toMatchObject({
    number: 1,
    url: `${gitea.url}/tester/${repo.name}/pulls/1`,
    state: "draft",
    title: "Fix it",
    branch: newPull.branch,
    base: "main",
    warnings: [],
  });
  expect(created.head_commit).toMatch(/^[0-9a-f]{40}$/);
  const { title } = await gitea.call(gitea.token, "GET", at("/pulls/1"));
  expect(title).toBe("WIP: Fix it");
  expect(await client.findPullRequest(repo, newPull)).toMatchObject({ number: 1, state: "draft" });
  const { branch } = newPull;
  expect(await client.findPullRequest(repo, { branch })).toMatchObject({ number: 1, state: "draft" });
  expect(await client.updatePullRequest(repo, 1, { title: "Fix all", body: "More" })).toMatchObject({
    title: "Fix all",
    state: "draft",
  });
  expect(await client.updatePullRequest(repo, 1, { state: "closed" })).toMatchObject({ state: "closed" });
  expect(await client.findPullRequest(repo, newPull)).toMatchObject({ number: 1, state: "closed" });
  expect(await client.updatePullRequest(repo, 1, { state: "open" })).toMatchObject({ state: "draft" });

  const first = await client.readPullRequest(repo, 1, {});
  if (first.isUnchanged) return expect.fail("it has not been read before");
  const etag = first.etag as string;
  expect(await client.readPullRequest(repo, 1, { etag })).toEqual({ isUnchanged: true });
  await gitea.call(gitea.token, "PATCH", at("/pulls/1"), { title: "Fix all" });
  await expect
    .poll(
      () =>
        gitea.call(gitea.token, "POST", at("/pulls/1/merge"), { Do: "merge" }).then(
          () => true,
          () => false,
        ),
      {
        timeout: 20_000,
      },
    )
    .toBe(true);
  expect(await client.readPullRequest(repo, 1, { etag })).toMatchObject({ pullRequest: { state: "merged" } });
});

test("a second pull request for a branch is a conflict", async () => {
  await pushBranch();
  await client.createPullRequest(repo, newPull);
  expect(await errorOf(client.createPullRequest(repo, newPull))).toMatchObject({ code: "conflict" });
});

test("labels and reviewers that do not exist become warnings", async () => {
  await gitea.newUser("reviewer");
  await gitea.call(gitea.token, "PUT", at("/collaborators/reviewer"), { permission: "write" });
  await gitea.call(gitea.token, "POST", at("/labels"), { name: "bug", color: "#ff0000" });
  await pushBranch();
  const created = await client.createPullRequest(repo, {
    ...newPull,
    labels: ["bug", "nope"],
    reviewers: ["reviewer", "nobody"],
  });
  expect(created.warnings).toEqual([
    "The label “nope” was not added: does not exist.",
    expect.stringMatching(/^nobody was not requested as reviewer: /),
  ]);
  const pull = await gitea.call(gitea.token, "GET", at("/pulls/1"));
  expect(pull.labels).toMatchObject([{ name: "bug" }]);
  expect(pull.requested_reviewers).toMatchObject([{ login: "reviewer" }]);
});

test("comments have file, line and whether the author may write, and checks their state", async () => {
  const writer = await gitea.newUser("writer");
  const reader = await gitea.newUser("reader");
  await gitea.call(gitea.token, "PUT", at("/collaborators/writer"), { permission: "write" });
  await gitea.call(gitea.token, "PUT", at("/collaborators/reader"), { permission: "read" });
  await pushBranch();
  const { head_commit } = await client.createPullRequest(repo, newPull);
  await gitea.call(reader, "POST", at("/issues/1/comments"), { body: "Do my bidding" });
  await gitea.call(writer, "POST", at("/pulls/1/reviews"), {
    event: "REQUEST_CHANGES",
    body: "Almost",
    comments: [{ path: "fix.txt", body: "Rename it", new_position: 2 }],
  });
  const all = await client.listComments(repo, 1, {});
  if (all.isUnchanged) return expect.fail("nothing was read before");
  expect(all.comments.find(({ kind }) => kind === "comment")).toMatchObject({
    author: "reader",
    isTrusted: false,
    body: "Do my bidding",
  });
  expect(all.comments.find(({ kind }) => kind === "review")).toMatchObject({
    author: "writer",
    body: "Almost",
  });
  expect(all.comments.find(({ kind }) => kind === "review_comment")).toMatchObject({
    author: "writer",
    isTrusted: true,
    path: "fix.txt",
    line: 2,
    body: "Rename it",
  });
  const { etag } = all;
  expect(await client.listComments(repo, 1, etag ? { etag } : {})).toEqual({ isUnchanged: true });
  expect(await client.listComments(repo, 1, { since: "2100-01-01T00:00:00Z" })).toMatchObject({
    comments: [],
  });

  expect(await client.listFailedChecks(repo, head_commit, {})).toMatchObject({
    isComplete: true,
    checks: [],
  });
  const report = (context: string, state: string) =>
    gitea.call(gitea.token, "POST", at(`/statuses/${head_commit}`), {
      context,
      state,
      description: "1 failed",
    });
  await report("test", "failure");
  await report("lint", "pending");
  expect(await client.listFailedChecks(repo, head_commit, {})).toMatchObject({
    isComplete: false,
    checks: [{ name: "test", conclusion: "failure", summary: "1 failed" }],
  });
});

test("the access is tested on a scratch branch, and git can use the credential", async () => {
  const steps = await client.testAccess(repo);
  expect(steps.filter(({ ok }) => !ok)).toEqual([]);
  expect(steps).toHaveLength(6);
  const branches = await gitea.call(gitea.token, "GET", at("/branches"));
  expect(branches.map(({ name }: { name: string }) => name)).toEqual(["main"]);

  const { credential } = await client.gitCredential();
  const folder = await mkdtemp(join(tmpdir(), "outrider-gitea-clone-"));
  const header = `http.extraHeader=Authorization: Basic ${Buffer.from(credential).toString("base64")}`;
  await git(folder, "-c", header, "clone", "-q", `${gitea.url}/tester/${repo.name}.git`, "clone");
  await git(join(folder, "clone"), "-c", header, "push", "-q", "origin", "main:refs/heads/outrider/pushed");
  await rm(folder, { recursive: true });
  expect(await client.getRepository(repo)).toMatchObject({ default_branch: "main", can_push: true });
  expect(await client.listRepositories({ query: repo.name })).toEqual({
    repositories: [
      { repository: `tester/${repo.name}`, default_branch: "main", can_push: true, is_private: true },
    ],
    has_more: false,
  });
});

test("missing rights and protected branches are named", async () => {
  const { token } = await gitea.newToken("tester", ["read:user", "read:repository"]);
  const failed = (await open(token).testAccess(repo)).find(({ ok }) => !ok);
  expect(failed).toMatchObject({ step: "push", remedy: expect.stringContaining("write:repository") });
  await gitea.call(gitea.token, "POST", at("/branch_protections"), {
    rule_name: "outrider/**",
    enable_push: false,
  });
  const refused = (await client.testAccess(repo)).find(({ ok }) => !ok);
  expect(refused).toMatchObject({ step: "push" });
  expect(refused?.remedy).toContain("outrider/*");
});

test("a revoked token, an unknown repository, and a forge that is down and back", async () => {
  const { token, revoke } = await gitea.newToken("tester", ["all"]);
  const other = open(token);
  await other.identify();
  await revoke();
  expect(await errorOf(other.identify())).toMatchObject({ code: "unauthorized" });
  const unknown = { owner: "tester", name: "nope" };
  expect(await errorOf(client.getRepository(unknown))).toMatchObject({ code: "not_found" });
  await gitea.pause();
  expect(await errorOf(client.identify())).toMatchObject({ code: "unreachable", isRetryable: true });
  await gitea.resume();
  expect(await client.identify()).toMatchObject({ login: "tester" });
});
