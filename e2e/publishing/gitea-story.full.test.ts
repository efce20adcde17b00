import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PublishPolicy } from "@outrider/contract/publish-policy";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Gitea, startGitea } from "../../packages/server/test/forges/gitea.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { makeDataDir, removeDataDir } from "../process.ts";
import { expectSentences } from "./failures.ts";
import { CHECKOUT, PublishingInstallation } from "./installation.ts";
import { killPoints } from "./kill-points.ts";
import { type ReviewedModel, startReviewedModel } from "./model.ts";
import { type StoryForge, tellStory } from "./story.ts";

/** Publishing with a real forge. */

let folder: string;
let model: ReviewedModel;
let gitea: Gitea;
let reviewer: string;
let installation: PublishingInstallation;

beforeAll(async () => {
  folder = makeDataDir();
  model = await startReviewedModel();
  const models = join(folder, "models.json");
  writeFileSync(models, JSON.stringify(model.models));
  gitea = await startGitea();
  reviewer = await gitea.newUser("ada");
  installation = await PublishingInstallation.start({
    forgeUrl: gitea.url,
    environment: { OUTRIDER_MODELS: models },
  });
  await installation.connectForge("gitea", gitea.token);
});
afterAll(async () => {
  await installation?.stop();
  await gitea?.close();
  await model?.stop();
  removeDataDir(folder);
});

const call = (method: string, path: string, body?: unknown) => gitea.call(gitea.token, method, path, body);

/** Creates a repository with README.md on `main`, to which the reviewer may write. */
async function createRepository(name: string): Promise<string> {
  await call("POST", "/user/repos", { name, auto_init: true, default_branch: "main" });
  await call("PUT", `/repos/tester/${name}/collaborators/ada`, { permission: "write" });
  return `/repos/tester/${name}`;
}

async function commitFile(
  path: string,
  { branch, file, text }: { branch: string; file: string; text: string },
) {
  const found = await call("GET", `${path}/contents/${file}?ref=${branch}`).catch(() => undefined);
  const content = Buffer.from(text).toString("base64");
  const body = { branch, content, message: `Write ${text}`, ...(found ? { sha: found.sha } : {}) };
  await call(found ? "PUT" : "POST", `${path}/contents/${file}`, body);
}

async function listBranches(path: string): Promise<string[]> {
  return (await call("GET", `${path}/branches`)).map(({ name }: { name: string }) => name).sort();
}

async function listPullRequests(path: string): ReturnType<StoryForge["listPullRequests"]> {
  const all = await call("GET", `${path}/pulls?state=all&sort=oldest`);
  return all.map((pull: { head: { ref: string } } & Record<string, unknown>) => {
    const { number, body, title, draft, state } = pull;
    return { number, body, title, head: pull.head.ref, isDraft: draft, isOpen: state === "open" };
  });
}

async function merge(path: string, number: number): Promise<void> {
  const { title } = await call("GET", `${path}/pulls/${number}`);
  await call("PATCH", `${path}/pulls/${number}`, { title: title.replace(/^WIP:\s*/, "") });
  // Gitea first finds out whether there are conflicts.
  await vi.waitFor(() => call("POST", `${path}/pulls/${number}/merge`, { Do: "merge" }), waitOptions);
}

async function startRun(
  name: string,
  { file, text }: { file: string; text: string },
  policy?: PublishPolicy,
) {
  const environment = await installation.createEnvironment(`tester/${name}`, policy);
  return installation.createRun({
    environment,
    title: `Write ${text}`,
    publish: "pull_request",
    script: [
      `RUN: cd /workspace/${CHECKOUT} && echo ${text} > ${file} && git add . && git commit -qm 'Write ${text}'`,
      "SAY: Written.",
    ],
  });
}

async function expectExplained(run: string, message: RegExp): Promise<void> {
  await installation.until(run, "SUCCEEDED");
  const { status_message } = await installation.untilPublished(run, "FAILED");
  expect(status_message?.message).toMatch(message);
  expectSentences(status_message?.message);
  const notices = await installation.notices(run);
  expect(notices.filter((notice) => notice.includes(status_message?.message as string))).toHaveLength(1);
}

const anyKind: PublishPolicy = { publish: "pull_request" };

test("a change becomes a draft pull request, is reviewed, updated and merged", async () => {
  const path = await createRepository("story");
  await tellStory(installation, {
    type: "gitea",
    token: gitea.token,
    repository: "tester/story",
    readFile: async (branch, file) => {
      const { content } = await call("GET", `${path}/contents/${file}?ref=${encodeURIComponent(branch)}`);
      return Buffer.from(content, "base64").toString();
    },
    listBranches: () => listBranches(path),
    listPullRequests: () => listPullRequests(path),
    async comment(number, { path: file, line, body }) {
      const comments = [{ path: file, new_position: line, body }];
      await gitea.call(reviewer, "POST", `${path}/pulls/${number}/reviews`, { event: "COMMENT", comments });
    },
    merge: (number) => merge(path, number),
  });
});

test("a closed pull request is shown as closed, and a new one is opened only for a user", async () => {
  const path = await createRepository("closed");
  const run = await startRun("closed", { file: "a.txt", text: "first" }, anyKind);
  await installation.until(run, "SUCCEEDED");
  const { pull_request } = await installation.untilPublished(run);
  await call("PATCH", `${path}/pulls/${pull_request?.number}`, { state: "closed" });
  await installation.pollNow(run);
  await vi.waitUntil(async () => (await installation.pullRequests(run))[0]?.state === "closed", waitOptions);
  await installation.followUp(run, [
    `RUN: cd /workspace/${CHECKOUT} && echo second > a.txt && git commit -qam 'Write second'`,
  ]);
  await vi.waitUntil(async () => (await installation.publications(run)).length === 2, waitOptions);
  await installation.untilPublished(run);
  expect(await listPullRequests(path)).toHaveLength(1);
  await installation.request("POST", `/agent/runs/${run}/publications`, { kind: "pull_request" });
  await installation.untilPublished(run);
  expect((await listPullRequests(path)).map(({ isOpen }) => isOpen)).toEqual([false, true]);
});

test("a conflict with the base is explained", async () => {
  const path = await createRepository("conflict");
  const held = installation.gate.hold(killPoints["between upload and report"]);
  const policy: PublishPolicy = { ...anyKind, on_base_moved: "merge" };
  const run = await startRun("conflict", { file: "README.md", text: "ours" }, policy);
  await held.arrived;
  await commitFile(path, { branch: "main", file: "README.md", text: "theirs\n" });
  held.release();
  await expectExplained(run, /README\.md/);
  expect(await listBranches(path)).toEqual(["main"]);
});

test("a protected branch is explained", async () => {
  const path = await createRepository("protected");
  const rule = { rule_name: "outrider/**", enable_push: false };
  await call("POST", `${path}/branch_protections`, rule);
  const run = await startRun("protected", { file: "a.txt", text: "protected" }, anyKind);
  await expectExplained(run, /protected.*branch_prefix/s);
  expect(await listBranches(path)).toEqual(["main"]);
});

test("changes are published once when the forge is down and comes back", async () => {
  const path = await createRepository("down");
  const held = installation.gate.hold(killPoints["between upload and report"]);
  const run = await startRun("down", { file: "a.txt", text: "down" }, anyKind);
  await held.arrived;
  await gitea.pause();
  held.release();
  await installation.until(run, "SUCCEEDED");
  const waiting = await vi.waitUntil(async () => {
    const [last] = await installation.publications(run);
    return last?.status_message;
  }, waitOptions);
  expect(waiting.retryable).toBe(true);
  expectSentences(waiting.message);
  await gitea.resume();
  const { branch } = await installation.untilPublished(run);
  expect(await listBranches(path)).toEqual(["main", branch]);
  expect((await listPullRequests(path)).map(({ head }) => head)).toEqual([branch]);
});

test("a revoked token is explained, and a new one repairs it", async () => {
  const path = await createRepository("revoked");
  const { token, revoke } = await gitea.newToken("tester", ["all"]);
  await installation.connectForge("gitea", token);
  const held = installation.gate.hold(killPoints["between upload and report"]);
  const run = await startRun("revoked", { file: "a.txt", text: "revoked" }, anyKind);
  await held.arrived;
  await revoke();
  held.release();
  await expectExplained(run, /credential|token/i);
  expect(await listBranches(path)).toEqual(["main"]);
  await installation.connectForge("gitea", gitea.token);
  await installation.request("POST", `/agent/runs/${run}/publications`, {});
  const { branch } = await installation.untilPublished(run);
  expect(await listBranches(path)).toEqual(["main", branch]);
});
