import { randomBytes } from "node:crypto";
import type { ForgeTestStep } from "@outrider/contract/forge";
import { type ForgeClient, ForgeError, type RepositoryName } from "./forge-client.ts";
import type { ForgeFetch } from "./forge-fetch.ts";
import { checkGitAccess } from "./git-access.ts";

export interface TestAccessOptions {
  client: Pick<
    ForgeClient,
    "identify" | "getRepository" | "gitCredential" | "createPullRequest" | "updatePullRequest"
  >;
  repo: RepositoryName;
  fetch: ForgeFetch;
  gitUrl: string;
  /** The names of the permissions in the words of the forge. */
  permissions: { read: string; write: string; pullRequest: string };
  /** Creates the branch from `base` with one commit that adds the file. */
  pushScratchBranch(options: { branch: string; base: string; file: string; message: string }): Promise<void>;
  deleteBranch(branch: string): Promise<void>;
  onStep?: (step: ForgeTestStep) => void;
}

/**
 * Tries everything that publishing needs, one step after the other. It stops at the first step that fails, but always
 * deletes what it has created.
 */
export async function testAccess(options: TestAccessOptions): Promise<ForgeTestStep[]> {
  const { client, repo, fetch, gitUrl, permissions, onStep } = options;
  const fullName = `${repo.owner}/${repo.name}`;
  const branch = `outrider/test-${randomBytes(4).toString("hex")}`;
  const message = "Test the access of Outrider";
  const steps: ForgeTestStep[] = [];
  const attempt = async (step: ForgeTestStep["step"], work: () => Promise<string>, remedy: string) => {
    if (steps.some(({ ok }) => !ok) && step !== "clean_up") return;
    const result: ForgeTestStep = await work().then(
      (text) => ({ step, ok: true, message: text }),
      (error: Error) => ({ step, ok: false, message: error.message, remedy: remedyFor(error, remedy) }),
    );
    steps.push(result);
    onStep?.(result);
  };
  let base = "";
  let hasBranch = false;
  let number: number | undefined;

  await attempt(
    "authenticate",
    async () => `The credential belongs to ${(await client.identify()).login}.`,
    "Connect the forge again with a new token.",
  );
  await attempt(
    "read_repository",
    async () => {
      const { default_branch, archived, can_push } = await client.getRepository(repo);
      base = default_branch;
      if (archived)
        throw new ForgeError("forbidden", `${fullName} is archived, so nothing can be pushed to it.`);
      if (!can_push) throw new ForgeError("forbidden", `The credential may not push to ${fullName}.`);
      return `${fullName} can be read; its default branch is ${default_branch}.`;
    },
    `Give the credential access to ${fullName} with the permission ${permissions.write}.`,
  );
  await attempt(
    "clone",
    async () => {
      const { credential } = await client.gitCredential(repo, { write: false });
      await checkGitAccess({ fetch, url: gitUrl, service: "git-upload-pack", credential });
      return "git can clone the repository.";
    },
    `Grant the permission ${permissions.read}.`,
  );
  await attempt(
    "push",
    async () => {
      const { credential } = await client.gitCredential(repo, { write: true });
      await checkGitAccess({ fetch, url: gitUrl, service: "git-receive-pack", credential });
      // Set before the calls, because one of several may succeed.
      hasBranch = true;
      await options.pushScratchBranch({ branch, base, file: ".outrider-test", message });
      return `The branch ${branch} was pushed.`;
    },
    `Grant the permission ${permissions.write}, and allow branches with the name outrider/* in the rules of the repository.`,
  );
  await attempt(
    "pull_request",
    async () => {
      const created = await client.createPullRequest(repo, {
        branch,
        base,
        title: message,
        body: "Outrider opened this pull request to test its access, and closes it at once.",
        draft: true,
        labels: [],
        reviewers: [],
      });
      number = created.number;
      await client.updatePullRequest(repo, number, { state: "closed" });
      return `Pull request ${number} was opened and closed.`;
    },
    `Grant the permission ${permissions.pullRequest}.`,
  );
  if (hasBranch) {
    await attempt(
      "clean_up",
      async () => {
        await options.deleteBranch(branch).catch((error: ForgeError) => {
          // The branch was never created.
          const wasPushed = steps.some(({ step, ok }) => step === "push" && ok);
          if (wasPushed) throw error;
        });
        return `The branch ${branch} was deleted.`;
      },
      `Delete the branch ${branch} by hand.`,
    );
  }
  return steps;
}

function remedyFor(error: Error, remedy: string): string {
  if (!(error instanceof ForgeError)) return remedy;
  if (error.code === "unreachable")
    return "Check the address, the proxy and the certificates of the server, then test again.";
  if (error.code === "rate_limited" || error.code === "server_error") return "Wait, then test again.";
  if (error.code === "unauthorized") return "Connect the forge again with a new token.";
  return remedy;
}
