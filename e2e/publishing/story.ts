import { expect, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { CHECKOUT, type PublishingInstallation } from "./installation.ts";

/** What the story needs from a forge. */
export interface StoryForge {
  type: "github" | "gitea";
  token: string;
  /** A repository with the branch `main`. */
  repository: string;
  /** Reads a file of a branch. */
  readFile(branch: string, path: string): Promise<string>;
  listBranches(): Promise<string[]>;
  listPullRequests(): Promise<
    { number: number; head: string; body: string; title: string; isDraft: boolean; isOpen: boolean }[]
  >;
  /** Comments on a line of a file as a user who may write to the repository. */
  comment(number: number, comment: { path: string; line: number; body: string }): Promise<void>;
  /** Marks the pull request as ready and merges it. */
  merge(number: number): Promise<void>;
}

/**
 * The way of a change from a prompt to the main branch: connect the forge, run the agent, open a draft pull request,
 * continue because of a review, merge.
 */
export async function tellStory(installation: PublishingInstallation, forge: StoryForge): Promise<void> {
  const { type, token, repository } = forge;
  const { forge_id } = await installation.connectForge(type, token);
  const { repositories } = await installation.request("GET", `/agent/forges/${forge_id}/repositories`);
  expect(repositories.map((one: { repository: string }) => one.repository)).toContain(repository);
  const test = await installation.request("POST", `/agent/forges/${forge_id}/test`, { repository });
  expect(test.steps.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  const branchesBefore = await forge.listBranches();
  expect(branchesBefore).toEqual(["main"]);
  const pullsBefore = (await forge.listPullRequests()).length;

  const environment = await installation.createEnvironment(repository, { follow_up: { comments: true } });
  const run = await installation.createRun({
    environment,
    title: "Say hello",
    publish: "draft_pull_request",
    script: [
      `RUN: cd /workspace/${CHECKOUT} && printf 'check:\\n\\ttest -s hello.txt\\n' > Makefile && echo hello > hello.txt`,
      `RUN: cd /workspace/${CHECKOUT} && git add . && git commit -qm 'Say hello'`,
      `RUN: make -C /workspace/${CHECKOUT} check || sh -c 'cd /workspace/${CHECKOUT} && test -s hello.txt'`,
      "SAY: I added a greeting.",
    ],
  });
  await installation.until(run, "SUCCEEDED");
  const first = await installation.untilPublished(run);
  const { branch } = first;
  expect(branch).toMatch(/^outrider\/say-hello-[0-9a-z]{8}$/);
  expect(await forge.readFile(branch, "hello.txt")).toBe("hello\n");
  const [opened, ...others] = (await forge.listPullRequests()).slice(pullsBefore);
  expect(others).toEqual([]);
  expect(opened).toMatchObject({ head: branch, isDraft: true, isOpen: true });
  const { number, body } = opened as NonNullable<typeof opened>;
  expect(opened?.title).toContain("Say hello");
  expect(body).toContain("I added a greeting.");
  expect(body).toMatch(/`make -C \/workspace\/api check.*`: exit code 0/);
  expect(body).toMatch(/cost \$\d+\.\d\d/);
  expect(body).toContain(`/runs/${run}`);
  expect(await installation.pullRequests(run)).toMatchObject([
    { number, repository, branch, base: "main", state: "draft" },
  ]);
  const { artifacts } = await installation.get(run);
  const artifact = artifacts.find((one: { artifact_type: string }) => one.artifact_type === "PULL_REQUEST");
  expect(artifact.pull_request).toMatchObject({ number, state: "draft" });

  // The reviewer's comment becomes a follow-up, and the branch is updated.
  await forge.comment(number, {
    path: "hello.txt",
    line: 1,
    body: `Greet everybody.\n\nRUN: cd /workspace/${CHECKOUT} && echo hello everybody > hello.txt && git commit -qam 'Greet everybody'\nSAY: Everybody is greeted.`,
  });
  await installation.pollNow(run);
  await vi.waitUntil(async () => (await installation.get(run)).turns === 2, waitOptions);
  await installation.until(run, "SUCCEEDED");
  await vi.waitUntil(async () => (await installation.publications(run)).length === 2, waitOptions);
  const second = await installation.untilPublished(run);
  expect(second).toMatchObject({ branch, pull_request: { number } });
  expect(await forge.readFile(branch, "hello.txt")).toBe("hello everybody\n");
  expect((await forge.listPullRequests()).length).toBe(pullsBefore + 1);
  const events = await installation.events(run);
  const message = events.findLast(({ type: name }) => name === "message.user")?.data.text ?? "";
  expect(message).toContain("`hello.txt` line 1");
  expect(message).toContain("> Greet everybody.");
  // The same comment is not sent twice.
  await installation.pollNow(run);

  await forge.merge(number);
  await installation.pollNow(run);
  await vi.waitUntil(async () => (await installation.pullRequests(run))[0]?.state === "merged", waitOptions);
  expect((await installation.get(run)).turns).toBe(2);
  const merged = (await installation.events(run)).filter(({ type: name }) => name === "pull_request.updated");
  expect(merged.at(-1)?.data).toMatchObject({ number, state: "merged" });
  const listed = await installation.request("GET", "/agent/runs?pull_request_state=merged");
  expect(listed.runs.map(({ run_id }: { run_id: string }) => run_id)).toContain(run);
}
