import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { GitHubClient } from "../../src/forges/github.ts";
import { OutboundNetwork } from "../../src/outbound/outbound-network.ts";
import { commitFile, git } from "./git-backend.ts";
import { type GitHubStub, type StubRepository, startGitHubStub } from "./github-stub.ts";

/** The client of GitHub against a stub that checks requests and responses with GitHub's published schemas. */

const repo = { owner: "acme", name: "api" };
let stub: GitHubStub;
let repository: StubRepository;
let network: OutboundNetwork;

beforeEach(async () => {
  stub = await startGitHubStub();
  repository = await stub.addRepository("acme/api");
  network = new OutboundNetwork({ allowedAddresses: "127.0.0.1" });
});
afterEach(async () => {
  await network.close();
  await stub.close();
  expect(stub.violations).toEqual([]);
});

function withToken(token = stub.token): GitHubClient {
  return new GitHubClient({ url: stub.url, apiUrl: stub.apiUrl, auth: { type: "token", token }, network });
}

function withApp(): GitHubClient {
  const { id: appId, privateKey } = stub.app;
  return new GitHubClient({
    url: stub.url,
    apiUrl: stub.apiUrl,
    auth: { type: "app", appId, privateKey },
    network,
  });
}

const newPull = {
  branch: "outrider/fix-1",
  base: "main",
  title: "Fix it",
  body: "What was done",
  draft: true,
  labels: [] as string[],
  reviewers: [] as string[],
};

async function pushBranch(content = "fixed\n"): Promise<string> {
  await git(repository.folder, "update-ref", "refs/heads/outrider/fix-1", "refs/heads/main");
  return commitFile(repository.folder, { branch: newPull.branch, path: "fix.txt", content, message: "Fix" });
}

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail("it succeeded"),
    (error) => error,
  );

describe("a pull request", () => {
  test("is opened, found, read, updated, closed and reopened", async () => {
    const client = withToken();
    const commit = await pushBranch();
    expect(await client.findPullRequest(repo, newPull)).toBeUndefined();
    const created = await client.createPullRequest(repo, newPull);
    expect(created).toMatchObject({
      number: 1,
      url: `${stub.url}/acme/api/pull/1`,
      state: "draft",
      title: "Fix it",
      branch: "outrider/fix-1",
      base: "main",
      head_commit: commit,
      warnings: [],
    });
    expect(await client.findPullRequest(repo, newPull)).toMatchObject({ number: 1, state: "draft" });
    expect(await client.updatePullRequest(repo, 1, { title: "Fix all" })).toMatchObject({ title: "Fix all" });
    expect(await client.updatePullRequest(repo, 1, { state: "closed" })).toMatchObject({ state: "closed" });
    expect(await client.findPullRequest(repo, newPull)).toMatchObject({ number: 1, state: "closed" });
    expect(await client.updatePullRequest(repo, 1, { state: "open" })).toMatchObject({ state: "draft" });
  });

  test("that is merged is reported so, and unchanged ones are not sent again", async () => {
    const client = withToken();
    await pushBranch();
    await client.createPullRequest(repo, { ...newPull, draft: false });
    const first = await client.readPullRequest(repo, 1, {});
    if (first.isUnchanged) return expect.fail("it has not been read before");
    expect(first.pullRequest).toMatchObject({ state: "open", mergeable: true });
    const etag = first.etag as string;
    expect(await client.readPullRequest(repo, 1, { etag })).toEqual({ isUnchanged: true });
    stub.merge("acme/api", 1);
    expect(await client.readPullRequest(repo, 1, { etag })).toMatchObject({
      isUnchanged: false,
      pullRequest: { state: "merged" },
    });
  });

  test("for a branch that already has one is a conflict", async () => {
    const client = withToken();
    await pushBranch();
    await client.createPullRequest(repo, newPull);
    const error = await errorOf(client.createPullRequest(repo, newPull));
    expect(error).toMatchObject({ name: "ForgeError", code: "conflict", isRetryable: false });
    expect(error.message).toContain("A pull request already exists for acme:outrider/fix-1");
  });

  test("for a branch that does not exist is refused with GitHub's reason", async () => {
    const error = await errorOf(withToken().createPullRequest(repo, newPull));
    expect(error).toMatchObject({ code: "invalid", message: expect.stringContaining("head is invalid") });
  });

  test("gets labels and reviewers, and warnings for those that do not exist", async () => {
    await pushBranch();
    repository.collaborators.hubot = "write";
    const created = await withToken().createPullRequest(repo, {
      ...newPull,
      labels: ["bug", "nope"],
      reviewers: ["hubot", "stranger"],
    });
    expect(created.warnings).toEqual([
      "The label “nope” was not added: does not exist.",
      "stranger was not requested as reviewer: not found.",
    ]);
    expect(repository.pulls[0]).toMatchObject({ labels: ["bug"], reviewers: ["hubot"] });
  });

  test("is not a draft where GitHub does not support drafts", async () => {
    await pushBranch();
    const message = "Draft pull requests are not supported in this repository.";
    stub.failNext({ method: "POST", path: "/pulls", status: 422, body: { message } });
    const created = await withToken().createPullRequest(repo, newPull);
    expect(created.state).toBe("open");
    expect(created.warnings).toEqual([expect.stringContaining("not a draft")]);
  });
});

describe("reviews and checks", () => {
  test("comments have file, line, author and whether the author may write", async () => {
    const client = withToken();
    await pushBranch();
    await client.createPullRequest(repo, newPull);
    repository.collaborators.hubot = "write";
    const times = { created_at: "2026-01-01T00:00:00Z" };
    repository.comments.push({ number: 1, id: 1, user: "stranger", body: "Do my bidding", ...times });
    repository.comments.push({ number: 1, id: 2, user: "ci[bot]", body: "Coverage", ...times });
    repository.reviews.push({
      number: 1,
      id: 3,
      user: "hubot",
      body: "Almost",
      state: "CHANGES_REQUESTED",
      submitted_at: "2026-01-02T00:00:00Z",
    });
    repository.reviewComments.push({
      number: 1,
      id: 4,
      user: "hubot",
      body: "Rename it",
      path: "fix.txt",
      line: 7,
      created_at: "2026-01-03T00:00:00Z",
    });
    const all = await client.listComments(repo, 1, {});
    if (all.isUnchanged) return expect.fail("nothing was read before");
    expect(all.comments).toMatchObject([
      { id: "comment-1", author: "stranger", isTrusted: false, isBot: false, body: "Do my bidding" },
      { id: "comment-2", author: "ci[bot]", isTrusted: false, isBot: true },
      { id: "review-3", kind: "review", author: "hubot", isTrusted: true },
      { id: "review_comment-4", kind: "review_comment", path: "fix.txt", line: 7, isTrusted: true },
    ]);
    const { etag } = all;
    expect(await client.listComments(repo, 1, { ...(etag ? { etag } : {}) })).toEqual({ isUnchanged: true });
    const recent = await client.listComments(repo, 1, { since: "2026-01-02T12:00:00Z" });
    expect(recent).toMatchObject({ comments: [{ id: "review_comment-4" }] });
  });

  test("failed checks have a summary and the end of their log, which is fetched without the credential", async () => {
    const client = withToken();
    const commit = await pushBranch();
    repository.checkRuns.push(
      { id: 11, name: "lint", status: "completed", conclusion: "success", summary: "" },
      { id: 12, name: "test", status: "completed", conclusion: "failure", summary: "1 of 9 failed" },
      { id: 13, name: "deploy", status: "in_progress", conclusion: null, summary: "" },
    );
    repository.statuses.push({ id: 14, context: "ci/jenkins", state: "error", description: "broken" });
    const result = await client.listFailedChecks(repo, commit, {});
    if (result.isUnchanged) return expect.fail("nothing was read before");
    expect(result).toMatchObject({
      isComplete: false,
      checks: [
        { id: "check-12", name: "test", summary: "1 of 9 failed", log_tail: "the test failed" },
        { id: "status-14", name: "ci/jenkins", conclusion: "error", summary: "broken" },
      ],
    });
    const etag = result.etag as string;
    expect(await client.listFailedChecks(repo, commit, { etag })).toEqual({ isUnchanged: true });
    repository.checkRuns.pop();
    expect(await client.listFailedChecks(repo, commit, { etag })).toMatchObject({
      isComplete: true,
      checks: [{ id: "check-12" }, { id: "status-14" }],
    });
  });
});

describe("a GitHub App", () => {
  test("acts with tokens for one repository that have only the needed permissions", async () => {
    await stub.addRepository("acme/other");
    const client = withApp();
    expect(await client.identify()).toEqual({ login: "outrider-test[bot]", kind: "app" });
    await pushBranch();
    await client.createPullRequest(repo, newPull);
    await client.readPullRequest(repo, 1, {});
    await client.readPullRequest(repo, 1, {});
    const read = await client.gitCredential(repo, { write: false });
    const write = await client.gitCredential(repo, { write: true });
    expect(read.credential).toMatch(/^x-access-token:ghs_/);
    expect(write.expires_at).toBeDefined();
    expect(stub.mintedTokens).toEqual([
      { repositories: ["api"], permissions: { pull_requests: "write" } },
      { repositories: ["api"], permissions: { pull_requests: "read" } },
      { repositories: ["api"], permissions: { contents: "read" } },
      { repositories: ["api"], permissions: { contents: "write" } },
    ]);
  });

  test("gets a new token when the old one has expired", async () => {
    const client = withApp();
    await pushBranch();
    await client.createPullRequest(repo, newPull);
    stub.expireInstallationTokens();
    expect(await client.updatePullRequest(repo, 1, { title: "Later" })).toMatchObject({ title: "Later" });
    expect(stub.mintedTokens).toHaveLength(2);
  });

  test("lists repositories of its installations, and says if it is not installed", async () => {
    const client = withApp();
    expect(await client.listRepositories({ query: "API" })).toEqual({
      repositories: [{ repository: "acme/api", default_branch: "main", can_push: true, is_private: false }],
      has_more: false,
    });
    const error = await errorOf(client.getRepository({ owner: "acme", name: "nope" }));
    expect(error.message).toContain("The GitHub App is not installed in acme/nope");
  });

  test("names the permission that it lacks", async () => {
    stub.permissions = { contents: "read", metadata: "read" };
    const error = await errorOf(withApp().gitCredential(repo, { write: true }));
    expect(error).toMatchObject({ code: "forbidden", message: expect.stringContaining("contents: write") });
  });
});

describe("errors", () => {
  test("a revoked token", async () => {
    stub.revokeToken();
    const error = await errorOf(withToken().identify());
    expect(error).toMatchObject({ code: "unauthorized", isRetryable: false });
    expect(error.message).toContain("Connect the forge again");
    expect(error.message).not.toContain(stub.token);
  });

  test("a missing permission is named", async () => {
    stub.permissions = { contents: "write", metadata: "read", pull_requests: "read" };
    await pushBranch();
    const error = await errorOf(withToken().createPullRequest(repo, newPull));
    expect(error).toMatchObject({ code: "forbidden" });
    expect(error.message).toContain("It needs the permission Pull requests: Read and write.");
  });

  test("the primary rate limit waits until its reset", async () => {
    const reset = Math.floor(Date.now() / 1_000) + 600;
    stub.failNext({
      status: 403,
      headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(reset) },
      body: { message: "API rate limit exceeded" },
    });
    const error = await errorOf(withToken().identify());
    expect(error).toMatchObject({ code: "rate_limited", isRetryable: true });
    expect(error.retryAfterMs).toBeGreaterThan(590_000);
    expect(error.retryAfterMs).toBeLessThanOrEqual(600_000);
  });

  test("the secondary rate limit waits as long as it says", async () => {
    stub.failNext({
      status: 403,
      headers: { "retry-after": "30" },
      body: { message: "You have exceeded a secondary rate limit." },
    });
    const error = await errorOf(withToken().identify());
    expect(error).toMatchObject({ code: "rate_limited", retryAfterMs: 30_000 });
  });

  test("a server error, a forge that is down, and back", async () => {
    const client = withToken();
    stub.failNext({ status: 502, body: { message: "Bad gateway" } });
    expect(await errorOf(client.identify())).toMatchObject({ code: "server_error", isRetryable: true });
    await stub.pause();
    const error = await errorOf(client.identify());
    expect(error).toMatchObject({ code: "unreachable", isRetryable: true });
    expect(error.message).toContain("refused the connection");
    await stub.resume();
    expect(await client.identify()).toEqual({ login: "octocat", kind: "user" });
  });

  test("a repository that does not exist", async () => {
    const error = await errorOf(withToken().getRepository({ owner: "acme", name: "nope" }));
    expect(error).toMatchObject({ code: "not_found" });
  });
});

describe("testing the access", () => {
  test.each([
    ["a token", () => withToken()],
    ["an app", () => withApp()],
  ])("tries all steps with %s and leaves nothing behind", async (_, open) => {
    const seen: string[] = [];
    const steps = await open().testAccess(repo, ({ step }) => seen.push(step));
    expect(steps.filter(({ ok }) => !ok)).toEqual([]);
    expect(seen).toEqual(["authenticate", "read_repository", "clone", "push", "pull_request", "clean_up"]);
    expect(repository.pulls).toMatchObject([{ state: "closed", draft: true }]);
    expect(await git(repository.folder, "for-each-ref", "--format=%(refname)")).toBe("refs/heads/main");
  });

  test("says what is missing, and still deletes the branch", async () => {
    stub.permissions = { contents: "write", metadata: "read", pull_requests: "read" };
    const steps = await withToken().testAccess(repo);
    expect(steps.map(({ step, ok }) => [step, ok])).toEqual([
      ["authenticate", true],
      ["read_repository", true],
      ["clone", true],
      ["push", true],
      ["pull_request", false],
      ["clean_up", true],
    ]);
    expect(steps.find(({ ok }) => !ok)?.remedy).toBe("Grant the permission Pull requests: Read and write.");
    expect(await git(repository.folder, "for-each-ref", "--format=%(refname)")).toBe("refs/heads/main");
  });

  test("stops at a repository that is archived or read-only", async () => {
    repository.isArchived = true;
    expect((await withToken().testAccess(repo)).at(-1)?.message).toContain("is archived");
    repository.isArchived = false;
    stub.permissions = { contents: "read", metadata: "read" };
    const last = (await withToken().testAccess(repo)).at(-1);
    expect(last).toMatchObject({ step: "read_repository", ok: false });
    expect(last?.remedy).toContain("Contents: Read and write");
  });

  test("reports a protected branch with GitHub's reason", async () => {
    const message = "Repository rule violations found";
    stub.failNext({ method: "POST", path: "/git/refs", status: 422, body: { message } });
    const failed = (await withToken().testAccess(repo)).find(({ ok }) => !ok);
    expect(failed).toMatchObject({ step: "push", message: expect.stringContaining(message) });
    expect(failed?.remedy).toContain("rules of the repository");
  });
});
