import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GitHubStub, startGitHubStub } from "../../packages/server/test/forges/github-stub.ts";
import { makeDataDir, removeDataDir } from "../process.ts";
import { branchesOf, gitIn, PublishingInstallation } from "./installation.ts";
import { type ReviewedModel, startReviewedModel } from "./model.ts";
import { tellStory } from "./story.ts";

const REPOSITORY = "acme/api";
let folder: string;
let model: ReviewedModel;
let stub: GitHubStub;
let installation: PublishingInstallation;

beforeAll(async () => {
  folder = makeDataDir();
  model = await startReviewedModel();
  const models = join(folder, "models.json");
  writeFileSync(models, JSON.stringify(model.models));
  stub = await startGitHubStub();
  await stub.addRepository(REPOSITORY);
  installation = await PublishingInstallation.start({
    forgeUrl: stub.url,
    environment: { OUTRIDER_MODELS: models },
  });
});
afterAll(async () => {
  await installation?.stop();
  await stub?.close();
  await model?.stop();
  removeDataDir(folder);
});

test("a change becomes a draft pull request, is reviewed, updated and merged on GitHub", async () => {
  const repository = stub.repositories.get(REPOSITORY);
  if (!repository) throw new Error("The stub has no repository.");
  repository.collaborators.ada = "write";
  await tellStory(installation, {
    type: "github",
    token: stub.token,
    repository: REPOSITORY,
    readFile: async (branch, path) => `${gitIn(repository.folder, "show", `${branch}:${path}`)}\n`,
    listBranches: async () => Object.keys(branchesOf(repository.folder)),
    listPullRequests: async () =>
      repository.pulls.map(({ number, head, body, title, draft, state }) => ({
        ...{ number, head, body, title },
        isDraft: draft,
        isOpen: state === "open",
      })),
    async comment(number, comment) {
      const created_at = new Date().toISOString().replace(/\.\d+Z$/, "Z");
      repository.reviewComments.push({ number, id: 71, user: "ada", created_at, ...comment });
    },
    merge: async (number) => stub.merge(REPOSITORY, number),
  });
  expect(stub.violations).toEqual([]);
});
