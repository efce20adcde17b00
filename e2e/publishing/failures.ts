import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Publication } from "@outrider/contract/publication";
import type { PublishPolicy } from "@outrider/contract/publish-policy";
import { expect, vi } from "vitest";
import { commitFile } from "../../packages/server/test/forges/git-backend.ts";
import type { GitHubStub, StubRepository } from "../../packages/server/test/forges/github-stub.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import type { HeldRequest } from "./gate.ts";
import { branchesOf, CHECKOUT, gitIn, type PublishingInstallation } from "./installation.ts";
import { killPoints } from "./kill-points.ts";

/** What can go wrong at a forge. Each case has its own repository. The user must learn what to do from a sentence. */

export interface FailureContext {
  installation: PublishingInstallation;
  stub: GitHubStub;
}

interface Case extends FailureContext {
  repository: StubRepository;
  environment: string;
}

/** Expects text for people: complete sentences without output of programs. */
export function expectSentences(text: string | undefined): void {
  expect(text).toMatch(/^[A-Z0-9`][^\n]*\.$/);
  expect(text).not.toMatch(
    /undefined|\[object|fatal:|error:|Error:|HTTP\/|\b(at|from) \S+\.ts:|ECONN|ghp_|ghs_/,
  );
}

async function openCase(
  context: FailureContext,
  { name, policy }: { name: string; policy?: PublishPolicy },
): Promise<Case> {
  const repository = await context.stub.addRepository(`acme/${name}`);
  const environment = await context.installation.createEnvironment(`acme/${name}`, policy);
  return { ...context, repository, environment };
}

function change(file: string, text: string): string[] {
  return [
    `RUN: cd /workspace/${CHECKOUT} && echo ${text} > ${file} && git add . && git commit -qm 'Write ${text}'`,
    "SAY: Written.",
  ];
}

function startRun(
  { installation, environment }: Case,
  file: string,
  text: string,
  publish = "draft_pull_request",
): Promise<string> {
  return installation.createRun({
    environment,
    title: `Write ${text}`,
    publish,
    script: change(file, text),
  });
}

/** Waits until a request is held, changes the world, and lets the request continue. */
async function meanwhile(held: HeldRequest, act: () => Promise<void> | void): Promise<void> {
  await held.arrived;
  await act();
  held.release();
}

/** Waits until a publication says why it waits. */
async function untilRetried(installation: PublishingInstallation, run: string): Promise<Publication> {
  return vi.waitUntil(async () => {
    const [last] = await installation.publications(run);
    return last?.status_message ? last : undefined;
  }, waitOptions);
}

async function expectOnce({ installation, repository }: Case, run: string): Promise<void> {
  const { branch, commit } = await installation.untilPublished(run);
  expect(branchesOf(repository.folder)).toMatchObject({ [branch]: commit });
  expect(Object.keys(branchesOf(repository.folder)).sort()).toEqual(["main", branch]);
  expect(repository.pulls.map(({ head }) => head)).toEqual([branch]);
  const events = await installation.events(run);
  const count = (name: string) => events.filter(({ type }) => type === name).length;
  expect([count("branch.pushed"), count("pull_request.opened")]).toEqual([1, 1]);
}

async function expectFailure(
  { installation, repository }: Case,
  run: string,
  message: RegExp,
): Promise<Publication> {
  await installation.until(run, "SUCCEEDED");
  const failed = await installation.untilPublished(run, "FAILED");
  const text = failed.status_message?.message;
  expect(text).toMatch(message);
  expectSentences(text);
  const notices = await installation.notices(run);
  expect(notices.filter((notice) => notice.includes(text as string))).toHaveLength(1);
  expect(repository.pulls.filter(({ state }) => state === "open").length).toBeLessThan(2);
  return failed;
}

export const failures: Record<string, (context: FailureContext) => Promise<void>> = {
  async "the forge is down before the push and comes back"(context) {
    const opened = await openCase(context, { name: "down" });
    const { installation } = opened;
    const held = installation.gate.hold(killPoints["between upload and report"]);
    const run = await startRun(opened, "a.txt", "down");
    await meanwhile(held, () => installation.forge.close());
    const waiting = await untilRetried(installation, run).finally(() => installation.forge.open());
    expect(waiting).toMatchObject({ state: "QUEUED", status_message: { retryable: true } });
    expectSentences(waiting.status_message?.message);
    await installation.until(run, "SUCCEEDED");
    await expectOnce(opened, run);
  },

  async "the forge is down after the push and comes back"(context) {
    const opened = await openCase(context, { name: "down-later" });
    const { installation } = opened;
    const held = installation.forge.hold(killPoints["after the pull request is created"]);
    const run = await startRun(opened, "a.txt", "later");
    await held.arrived;
    // The pull request exists, but Outrider does not know it.
    await installation.forge.close();
    held.drop();
    const waiting = await untilRetried(installation, run).finally(() => installation.forge.open());
    expect(waiting).toMatchObject({ state: "PUSHED", status_message: { retryable: true } });
    expectSentences(waiting.status_message?.message);
    await expectOnce(opened, run);
  },

  async "the forge limits the rate"(context) {
    const opened = await openCase(context, { name: "limited" });
    const { installation, stub } = opened;
    const headers = { "retry-after": "1", "x-ratelimit-remaining": "0" };
    const body = { message: "API rate limit exceeded for user ID 1." };
    stub.failNext({ method: "POST", path: "/limited/pulls", status: 403, headers, body });
    const run = await startRun(opened, "a.txt", "limited");
    const waiting = await untilRetried(installation, run);
    expect(waiting.status_message?.message).toMatch(/limits the rate of requests until/);
    expectSentences(waiting.status_message?.message);
    await installation.until(run, "SUCCEEDED");
    await expectOnce(opened, run);
  },

  async "the branch is protected"(context) {
    const opened = await openCase(context, { name: "protected" });
    const hooks = join(opened.repository.folder, "hooks");
    mkdirSync(hooks, { recursive: true });
    const hook =
      "#!/bin/sh\necho 'error: GH006: Protected branch update failed for refs/heads/outrider/x.' >&2\nexit 1\n";
    writeFileSync(join(hooks, "pre-receive"), hook);
    chmodSync(join(hooks, "pre-receive"), 0o755);
    const run = await startRun(opened, "a.txt", "protected");
    await expectFailure(opened, run, /protected.*branch_prefix/s);
    expect(Object.keys(branchesOf(opened.repository.folder))).toEqual(["main"]);
  },

  async "the base has moved with a conflict"(context) {
    const opened = await openCase(context, { name: "conflict", policy: { on_base_moved: "merge" } });
    const { installation, repository } = opened;
    const held = installation.gate.hold(killPoints["between upload and report"]);
    const run = await startRun(opened, "README.md", "ours");
    await meanwhile(held, async () => {
      const theirs = { path: "README.md", content: "theirs\n", message: "Write theirs" };
      await commitFile(repository.folder, { branch: "main", ...theirs });
    });
    await expectFailure(opened, run, /conflict.*README\.md|README\.md.*conflict/is);
    expect(Object.keys(branchesOf(repository.folder))).toEqual(["main"]);
  },

  async "the base has moved without a conflict"(context) {
    const opened = await openCase(context, { name: "moved", policy: { on_base_moved: "merge" } });
    const { installation, repository } = opened;
    const held = installation.gate.hold(killPoints["between upload and report"]);
    const run = await startRun(opened, "a.txt", "ours");
    await meanwhile(held, async () => {
      const theirs = { path: "b.txt", content: "theirs\n", message: "Write theirs" };
      await commitFile(repository.folder, { branch: "main", ...theirs });
    });
    await expectOnce(opened, run);
    const [{ branch = "" } = {}] = await installation.publications(run);
    expect(gitIn(repository.folder, "show", `${branch}:a.txt`)).toBe("ours");
    expect(gitIn(repository.folder, "show", `${branch}:b.txt`)).toBe("theirs");
  },

  async "somebody else has changed the branch"(context) {
    const opened = await openCase(context, { name: "changed" });
    const { installation, repository } = opened;
    const run = await startRun(opened, "a.txt", "first");
    await installation.until(run, "SUCCEEDED");
    const { branch } = await installation.untilPublished(run);
    const theirs = { path: "c.txt", content: "theirs\n", message: "Write theirs" };
    const commit = await commitFile(repository.folder, { branch, ...theirs });
    await installation.followUp(run, change("a.txt", "second"));
    await vi.waitUntil(async () => (await installation.publications(run)).length === 2, waitOptions);
    await expectFailure(opened, run, /has commits that Outrider did not push/);
    expect(branchesOf(repository.folder)[branch]).toBe(commit);
  },

  async "two runs want the same branch"(context) {
    const opened = await openCase(context, { name: "shared" });
    const { installation, repository } = opened;
    const first = await startRun(opened, "a.txt", "first");
    await installation.until(first, "SUCCEEDED");
    const { branch, commit } = await installation.untilPublished(first);
    const second = await startRun(opened, "a.txt", "second", "none");
    await installation.until(second, "SUCCEEDED");
    const reply = await installation.call("POST", `/agent/runs/${second}/publications`, { branch });
    expect(reply.status, reply.text).toBe(409);
    expect(reply.body.message ?? reply.text).toContain(first);
    expectSentences(reply.body.message);
    expect(branchesOf(repository.folder)[branch]).toBe(commit);
    // Its own branch is free.
    await installation.request("POST", `/agent/runs/${second}/publications`, {});
    const other = await installation.untilPublished(second);
    expect(other.branch).not.toBe(branch);
    expect(repository.pulls.map(({ head }) => head).sort()).toEqual([branch, other.branch].sort());
  },

  /** After this one, the forge accepts no token. */
  async "the token is revoked"(context) {
    const opened = await openCase(context, { name: "revoked" });
    const { installation, stub, repository } = opened;
    const held = installation.gate.hold(killPoints["between upload and report"]);
    const run = await startRun(opened, "a.txt", "revoked");
    await meanwhile(held, () => stub.revokeToken());
    await expectFailure(opened, run, /credential|token/i);
    expect(Object.keys(branchesOf(repository.folder))).toEqual(["main"]);
  },

  /** Connects the forge with an app. */
  async "tokens of the app expire"(context) {
    const { installation, stub } = context;
    await installation.connectApp(stub.newManifestCode());
    const opened = await openCase(context, { name: "expired" });
    const push = installation.forge.hold(killPoints["during the push"]);
    const run = await startRun(opened, "a.txt", "expired");
    await meanwhile(push, () => stub.expireInstallationTokens());
    const open = installation.forge.hold(killPoints["before the pull request is created"]);
    await untilRetried(installation, run);
    await installation.retryNow(run);
    await meanwhile(open, () => stub.expireInstallationTokens());
    await installation.until(run, "SUCCEEDED");
    await expectOnce(opened, run);
    // Each token is for one repository.
    expect(stub.mintedTokens.every(({ repositories }) => repositories.length === 1)).toBe(true);
  },
};
