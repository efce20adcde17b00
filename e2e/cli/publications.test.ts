import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Forge } from "@outrider/contract/forge";
import type { Publication } from "@outrider/contract/publication";
import { type RunItem, zeroUsage } from "@outrider/contract/run";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Cli, createCli } from "./cli.ts";
import { type ContractServer, startContractServer } from "./contract-server.ts";

/** Tests publishing, approving and connecting with a server that validates requests and responses with the contract. */

let server: ContractServer;
let cli: Cli;
beforeAll(async () => {
  server = await startContractServer();
  cli = createCli({ OUTRIDER_API_KEY: "ork_test", OUTRIDER_BASE_URL: `${server.origin}/api/v1` });
});
afterAll(async () => {
  cli?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
});

const runId = "01990000-0000-7000-8000-000000000001";
const publicationId = "01990000-0000-7000-8000-000000000002";
const now = "2026-01-02T03:04:05.000Z";
const pullRequest = {
  ...{ url: "https://forge.example.com/acme/api/pulls/7", number: 7, repository: "acme/api" },
  ...{ branch: "outrider/fix-1234", base: "main", state: "draft" as const },
};
const patch =
  "diff --git a/a.txt b/a.txt\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+hello\n";

function publication(members: Partial<Publication> = {}): Publication {
  return {
    ...{ publication_id: publicationId, run_id: runId, turn: 1, path: "api" },
    ...{ repository: "https://forge.example.com/acme/api", kind: "draft_pull_request", state: "QUEUED" },
    ...{ branch: "outrider/fix-1234", base: "main", commit: "a".repeat(40), title: "Fix \x1b[31mit" },
    ...{ files_changed: 1, diff_bytes: 120, requested_by: { type: "agent" }, created_at: now },
    ...members,
  };
}

const listed = (...publications: Publication[]) => ({ publications, publishable: [] });
const bodies = (operation: string) =>
  server.received.filter((each) => each.operation === operation).map(({ body }) => body);

describe("runs publish", () => {
  test("sends the options, waits, and prints the pull request", async () => {
    const states = [
      publication({ state: "PUSHING", status_message: { message: "The forge is down\x1b[2J; retrying." } }),
      publication({ state: "PUSHED" }),
      publication({ state: "DONE", pull_request: pullRequest, warnings: ["Unknown reviewer: eve"] }),
    ];
    server.answer({
      createPublication: () => publication(),
      getPublication: () => states.shift(),
    });
    const { code, stdout, stderr } = await cli(
      [
        ...["runs", "publish", runId, "--ready", "--title", "Fix it", "--body", "-", "--label", "bug"],
        ...["--reviewer", "ada", "--reviewer", "bob", "--issue", "#12", "--repository", "api"],
      ],
      { input: "What was done" },
    );
    expect([code, stdout]).toEqual([0, `${pullRequest.url}\n`]);
    expect(stderr).toBe(
      "Waiting for a worker\nPushing the branch: The forge is down; retrying.\nOpening the pull request\nWarning: Unknown reviewer: eve\n",
    );
    expect(bodies("createPublication")).toEqual([
      {
        ...{ path: "api", kind: "pull_request", title: "Fix it", body: "What was done", labels: ["bug"] },
        ...{ reviewers: ["ada", "bob"], issues: ["#12"] },
      },
    ]);
  });

  test.each([
    [["--branch-only"], { kind: "branch" }],
    [["--draft"], { kind: "draft_pull_request" }],
    [[], {}],
  ])("%j requests %j", async (flags, body) => {
    server.answer({ createPublication: () => publication({ state: "DONE" }) });
    expect(await cli(["runs", "publish", runId, ...flags])).toMatchObject({
      code: 0,
      stdout: "outrider/fix-1234\n",
    });
    expect(bodies("createPublication")).toEqual([body]);
  });

  test("reports failures and approvals with the next step", async () => {
    const message = { message: "`.github/workflows/ci.yml` is protected.", remedy: "Revert it." };
    server.answer({ createPublication: () => publication({ state: "FAILED", status_message: message }) });
    expect(await cli(["runs", "publish", runId])).toMatchObject({
      ...{ code: 1, stdout: "", stderr: `FAILED: ${message.message} ${message.remedy}\n` },
    });
    server.answer({ createPublication: () => publication({ state: "AWAITING_APPROVAL" }) });
    const awaiting = await cli(["runs", "publish", runId]);
    expect(awaiting.code).toBe(8);
    expect(awaiting.stderr).toContain(`outrider runs approve ${runId} ${publicationId}\n`);
    expect((await cli(["runs", "publish", runId, "--json"])).json.state).toBe("AWAITING_APPROVAL");
  });

  test("stops waiting after a timeout, or does not wait", async () => {
    server.answer({ createPublication: () => publication(), getPublication: () => publication() });
    const timedOut = await cli(["runs", "publish", runId, "--timeout", "0.1"]);
    expect([timedOut.code, timedOut.stderr]).toEqual([
      6,
      expect.stringContaining("still QUEUED after 0.1 s"),
    ]);
    const { code, stdout } = await cli(["runs", "publish", runId, "--no-wait", "-q"]);
    expect([code, stdout]).toEqual([0, `${publicationId}\n`]);
    expect((await cli(["runs", "publish", runId, "--draft", "--ready"])).code).toBe(2);
  });

  test("lists publications", async () => {
    server.answer({ listPublications: () => listed(publication({ pull_request: pullRequest })) });
    const { stdout } = await cli(["runs", "publications", runId]);
    expect(stdout).toBe(
      `${publicationId}\tQUEUED\tdraft_pull_request\toutrider/fix-1234\t${pullRequest.url}\t\n`,
    );
  });
});

describe("runs approve and reject", () => {
  const awaiting = publication({ state: "AWAITING_APPROVAL", approval_reason: "`Makefile` is run by CI." });
  const other = publication({ ...awaiting, publication_id: publicationId.replace(/2$/, "3") });

  test("shows what is published and asks", async () => {
    server.answer({
      listPublications: () => listed(awaiting, publication({ state: "DONE" })),
      getDiff: () => Buffer.from(patch),
      approvePublication: () => publication(),
      getPublication: () => publication({ state: "DONE", pull_request: pullRequest }),
    });
    const terminal = cli.terminal(["runs", "approve", runId, "--wait", "--comment", "good"]);
    await terminal.waitForOutput("[y/N]");
    expect(terminal.text()).toMatch(
      /^title +Fix it\nrepository +https:\/\/forge.example.com\/acme\/api\nbranch +outrider\/fix-1234 → main\n/m,
    );
    expect(terminal.text()).toMatch(/^changes +1 file, 120 B\n[\s\S]*^reason +`Makefile` is run by CI\.$/m);
    expect(terminal.text()).toContain(" a.txt | 1 +\n");
    expect(terminal.stdout()).not.toContain("\x1b[31mit");
    expect(bodies("approvePublication")).toEqual([]);
    terminal.type("y\r");
    expect((await terminal.ended).code).toBe(0);
    expect(terminal.text()).toContain(pullRequest.url);
    expect(bodies("approvePublication")).toEqual([{ comment: "good" }]);
  });

  test("requires --yes in a script", async () => {
    server.answer({
      listPublications: () => listed(awaiting),
      getDiff: () => Buffer.from(patch),
      rejectPublication: () => publication({ state: "REJECTED" }),
    });
    expect(await cli(["runs", "reject", runId])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Pass --yes"),
    });
    expect(bodies("rejectPublication")).toEqual([]);
    const rejected = await cli(["runs", "reject", runId, "--yes", "--comment", "Add a test."]);
    expect(rejected.stdout).toBe("Rejected. The run continues with the comment.\n");
    expect(bodies("rejectPublication")).toEqual([{ comment: "Add a test." }]);
  });

  test("needs a name if several await approval", async () => {
    server.answer({ listPublications: () => listed(awaiting, other), approvePublication: () => awaiting });
    const several = await cli(["runs", "approve", runId, "--yes"]);
    expect(several.code).toBe(2);
    expect(several.stderr).toContain(
      `  ${other.publication_id}  https://forge.example.com/acme/api  outrider/`,
    );
    expect((await cli(["runs", "approve", runId, other.publication_id, "--yes"])).stdout).toBe("Approved.\n");
    expect(server.received.at(-1)?.params).toEqual({ runId, publicationId: other.publication_id });
    server.answer({ listPublications: () => listed(publication()) });
    expect((await cli(["runs", "approve", runId, "--yes"])).code).toBe(1);
    expect((await cli(["runs", "approve", runId, "ffff", "--yes"])).code).toBe(4);
  });
});

describe("connect and forges", () => {
  const forge: Forge = {
    ...{ forge_id: "01990000-0000-7000-8000-000000000004", type: "gitea", url: "https://git.example.com" },
    ...{ host: "git.example.com", auth: "token", login: "bot", created_at: now, updated_at: now },
  };
  const app: Forge = {
    ...{ ...forge, forge_id: "01990000-0000-7000-8000-000000000005", type: "github", auth: "app" },
    ...{ url: "https://ghe.example.com", host: "ghe.example.com", install_url: "https://ghe.example.com/i" },
  };
  const repositories = [
    { repository: "acme/api", default_branch: "main", can_push: true, is_private: true },
    { repository: "acme/docs", default_branch: "main", can_push: false, is_private: false },
  ];
  const test_ = {
    ...{ repository: "acme/api", ok: false, tested_at: now },
    steps: [
      { step: "authenticate" as const, ok: true, message: "as bot" },
      { step: "push" as const, ok: false, message: "not allowed", remedy: "Give the token write access." },
    ],
  };

  beforeEach(() => {
    server.answer({
      createForge: () => forge,
      listForges: () => ({ forges: [forge] }),
      getForge: () => forge,
      listForgeRepositories: () => ({ repositories, has_more: true }),
      testForge: () => test_,
      deleteForge: () => undefined,
    });
  });

  test("reads the token from a file or stdin, and tests a repository", async () => {
    const file = join(cli.home, "token");
    writeFileSync(file, "secret-token\n");
    const fromFile = await cli([
      ...["connect", "gitea", "--host", "git.example.com/", "--token-file", file],
      ...["--test", "acme/api"],
    ]);
    expect(fromFile.code).toBe(1);
    expect(fromFile.stdout).toBe(
      "Connected git.example.com as bot.\n✓ authenticate: as bot\n✗ push: not allowed\n  Give the token write access.\n",
    );
    const body = { type: "gitea", url: "https://git.example.com", token: "secret-token" };
    expect(bodies("createForge")).toEqual([body]);
    expect(bodies("testForge")).toEqual([{ repository: "acme/api" }]);
    const stdin = { input: "secret-token" };
    const piped = await cli(["connect", "github", "--token-file", "-"], stdin);
    expect(piped.stderr).toContain("Repositories:\n  acme/api\n  acme/docs (read only)\n");
    expect(bodies("createForge").at(-1)).toMatchObject({ type: "github", url: "https://github.com" });
    expect((await cli(["connect", "gitlab"])).stderr).toContain("--token-file");
    expect((await cli(["connect", "gitea", "--token-file", "-"], stdin)).stderr).toContain("--host");
    const unsafe = ["connect", "gitea", "--host", "https://me:pw@git.example.com", "--token-file", file];
    expect((await cli(unsafe)).stderr).toContain("must not contain a user or token");
  });

  test("prompts for the token without showing it, and offers a test", async () => {
    const terminal = cli.terminal(["connect", "gitea", "--host", "git.example.com"]);
    await terminal.waitForOutput("not shown");
    expect(terminal.text()).toContain("https://git.example.com/user/settings/applications");
    terminal.type("secret-token\r");
    await terminal.waitForOutput("(empty: none)");
    terminal.type("acme/api\r");
    expect((await terminal.ended).code).toBe(1);
    expect(terminal.text()).toContain("✗ push: not allowed");
    expect(terminal.stdout()).not.toContain("secret-token");
    expect(bodies("createForge")).toMatchObject([{ token: "secret-token" }]);
  });

  test("shows the page for a GitHub App and waits for it", async () => {
    let isCreated = false;
    server.answer({
      listForges: () => ({ forges: isCreated ? [forge, app] : [forge] }),
      listForgeRepositories: () => ({ repositories: [], has_more: false }),
    });
    const running = cli.start([
      "connect",
      "github",
      "--host",
      "ghe.example.com",
      "--app",
      "--organization",
      "acme",
    ]);
    const page = `${server.origin}/settings/forges/github-app/new?host=ghe.example.com&organization=acme`;
    await running.waitForOutput(page);
    isCreated = true;
    expect((await running.ended).code).toBe(0);
    expect(running.stdout()).toBe("Connected ghe.example.com as bot.\n");
    expect(running.stderr()).toContain("Install the app in repositories: https://ghe.example.com/i");
    expect((await cli(["connect", "gitlab", "--app"])).code).toBe(2);
  });

  test("lists, shows, tests and deletes forges", async () => {
    const id = forge.forge_id;
    expect((await cli(["forges", "list"])).stdout).toBe(`${id}\tgit.example.com\tgitea\ttoken\tbot\t\n`);
    expect((await cli(["forges", "get", "git.example.com"])).stdout).toMatch(/^acts as +bot$/m);
    const found = await cli(["forges", "repositories", id, "--search", "ac"]);
    expect(found.stdout).toBe("acme/api\tmain\tpush\tprivate\nacme/docs\tmain\tread\t\n");
    expect(found.stderr).toContain("--page 2");
    expect(server.received.at(-1)?.query).toEqual({ q: "ac" });
    expect((await cli(["forges", "test", "git.example.com", "acme/api", "-q"])).stdout).toBe("failed\n");
    expect((await cli(["forges", "delete", id])).stderr).toContain("--yes");
    expect((await cli(["forges", "delete", id, "--yes"])).stdout).toBe("Disconnected git.example.com.\n");
    expect((await cli(["forges", "get", "none"])).code).toBe(4);
  });
});

describe("runs checkout", () => {
  test("creates a branch from the run's commits, or fetches the pushed branch", async () => {
    const origin = join(cli.home, "origin");
    const clone = join(cli.home, "clone");
    mkdirSync(origin);
    const identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
    const git = (cwd: string, ...args: string[]) =>
      execFileSync("git", [...identity, ...args], { cwd, encoding: "utf8", stdio: "pipe" }).trim();
    git(origin, "init", "--quiet", "--initial-branch=main");
    git(origin, "commit", "--quiet", "--allow-empty", "--message", "start");
    const base = git(origin, "rev-parse", "HEAD");
    git(cli.home, "clone", "--quiet", origin, clone);
    git(origin, "checkout", "--quiet", "-b", "outrider/fix-1234");
    writeFileSync(join(origin, "a.txt"), "hello\n");
    git(origin, "add", "--all");
    git(origin, "commit", "--quiet", "--message", "change");
    const commit = git(origin, "rev-parse", "HEAD");
    const file = join(cli.home, "bundle");
    git(origin, "bundle", "create", "--quiet", file, "HEAD", "^main");
    const run: RunItem = {
      ...{ run_id: runId, title: "x", state: "SUCCEEDED", phase: "done", prompt: "x" },
      ...{ created_at: now, updated_at: now, source: "CLI", priority: 0, turns: 1, attempts: 1 },
      ...{
        creator: { type: "user", uid: runId, display_name: "Ada" },
        usage: zeroUsage,
        is_sandbox_running: false,
      },
      agent_config: { model_id: "scripted" },
      receipt: {
        ...{ worker: "w", harness_version: "1", model_id: "scripted", network: { mode: "none" } },
        repositories: [{ url: `file://${origin}`, commit: base, path: "api" }],
      },
    };
    const answers = {
      getRun: () => run,
      listPublications: () => listed(),
      getCommits: () => readFileSync(file),
    };
    server.answer(answers);
    const local = ["runs", "checkout", runId, "--branch", "mine"];
    const created = await cli(local, { cwd: clone });
    expect(created.stderr + created.stdout).toBe(
      `Switched to mine at ${commit.slice(0, 12)} (commits of run ${runId}).\n`,
    );
    expect(server.received.at(-1)?.query).toEqual({ path: "api" });
    expect(git(clone, "rev-parse", "mine")).toBe(commit);
    server.answer({ ...answers, listPublications: () => listed(publication({ state: "DONE" })) });
    const fetched = await cli(["runs", "checkout", runId], { cwd: clone });
    expect(fetched.stdout).toContain("(origin/outrider/fix-1234)");
    expect(git(clone, "branch", "--show-current")).toBe("outrider/fix-1234");
    server.answer({ ...answers, getCommits: () => 404 });
    const none = await cli(["runs", "checkout", runId], { cwd: clone });
    expect(none).toMatchObject({ code: 4, stderr: expect.stringContaining("outrider runs apply") });
  });
});
