import { afterAll, beforeAll, expect, test } from "vitest";
import { git } from "../../packages/server/test/forges/git-backend.ts";
import {
  type GitHubStub,
  type StubRepository,
  startGitHubStub,
} from "../../packages/server/test/forges/github-stub.ts";
import { makePrivateCa } from "../../packages/worker/test/egress/private-ca.ts";
import { startTestInstallation, type TestInstallation } from "../../packages/worker/test/installation.ts";
import { makeFolder } from "../../packages/worker/test/repositories/git-server.ts";
import { testPullRequest } from "./forge-scenario.ts";

/** A run publishes through a GitHub App, at a stub that checks everything with GitHub's published schemas. */

const certificates = makeFolder();
let github: GitHubStub;
let repository: StubRepository;
let installation: TestInstallation;

beforeAll(async () => {
  const { caFile, tls } = makePrivateCa(certificates.folder, []);
  github = await startGitHubStub({ tls });
  repository = await github.addRepository("acme/api");
  installation = await startTestInstallation({ OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1" });
  await installation.worker({ extraCa: caFile, allowedAddresses: "127.0.0.1" });
});
afterAll(async () => {
  await installation?.stop();
  await github?.close();
  certificates.remove();
});

test("a GitHub App: open, forge down and back, follow-up, merge", async () => {
  const { body } = await installation.call("POST", "/agent/forge-app-manifests", {
    body: { url: github.url },
  });
  const state = new URL(body.action_url).searchParams.get("state");
  const done = await installation.call("POST", `/agent/forge-app-manifests/${body.manifest_id}/complete`, {
    body: { code: github.newManifestCode(), state },
  });
  expect(done).toMatchObject({ status: 201 });
  await testPullRequest(installation, {
    connection: done.body.forge_id,
    secrets: () => [
      ...github.requests.map(({ token }) => token).filter(Boolean),
      github.app.privateKey.slice(40, 80),
    ],
    host: new URL(github.url).host,
    repository: "acme/api",
    pulls: () =>
      Promise.all(
        repository.pulls.map(async ({ number, head, draft }) => ({
          number,
          branch: head,
          isDraft: draft,
          commit: await git(repository.folder, "rev-parse", `refs/heads/${head}`),
        })),
      ),
    merge: async (number) => github.merge("acme/api", number),
    pause: github.pause,
    resume: github.resume,
  });
  expect(github.violations).toEqual([]);
  // Each token is for one repository, and only those for pushing can write to it.
  expect(new Set(github.mintedTokens.map(({ repositories }) => repositories.join()))).toEqual(
    new Set(["api"]),
  );
  const writes = github.mintedTokens.filter(({ permissions }) => permissions.contents === "write");
  expect(writes.length).toBeGreaterThan(0);
});
