import { exits, UsageError } from "../exit-codes.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import type { LocalGit } from "./git.ts";
import { readBundle } from "./read-bundle.ts";

export interface CheckedOutBranch {
  branch: string;
  commit: string;
}

interface BranchOptions {
  git: LocalGit;
  /** The name of the local branch. It comes from the server. */
  branch: string;
}

/** Fetches a branch that was pushed, and switches to it. */
export async function checkOutRemoteBranch({
  git,
  remote,
  branch,
  remoteBranch,
}: BranchOptions & { remote: string; remoteBranch: string }): Promise<CheckedOutBranch> {
  await requireBranchName(git, branch);
  await requireBranchName(git, remoteBranch);
  const tracking = `refs/remotes/${remote}/${remoteBranch}`;
  // The branch belongs to the run, which may replace its commits.
  const refspec = `+refs/heads/${remoteBranch}:${tracking}`;
  await git.text(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote, refspec]);
  const commit = await git.text(["rev-parse", "--verify", `${tracking}^{commit}`]);
  const isNew = await switchTo(git, { branch, commit });
  if (isNew) await git.run(["branch", "--quiet", `--set-upstream-to=${remote}/${remoteBranch}`, branch]);
  return { branch, commit };
}

/** Creates a branch from a bundle of commits, and switches to it. */
export async function checkOutBundle({
  git,
  branch,
  bundle,
}: BranchOptions & { bundle: Uint8Array }): Promise<CheckedOutBranch> {
  await requireBranchName(git, branch);
  const { tip: commit, prerequisites, pack } = readBundle(bundle);
  for (const prerequisite of prerequisites) {
    if (await git.hasCommit(prerequisite)) continue;
    throw new UsageError(
      `This checkout does not have the commit ${prerequisite.slice(0, 12)}, from which the run started. Run \`git fetch\`, and try again.`,
      { exit: exits.failed, code: "commit_not_found" },
    );
  }
  // The objects come from an agent. git stores them only if no tree contains `.git` or a path outside of the checkout.
  await git.text(["index-pack", "--stdin", "--fix-thin", "--fsck-objects"], { input: pack });
  const excluded = prerequisites.map((prerequisite) => `^${prerequisite}`);
  await git.text(["rev-list", "--objects", "--quiet", commit, ...excluded]);
  await switchTo(git, { branch, commit });
  return { branch, commit };
}

async function requireBranchName(git: LocalGit, branch: string): Promise<void> {
  const isValid =
    !branch.startsWith("-") && (await git.run(["check-ref-format", "--branch", branch])).code === 0;
  if (!isValid || branch.includes("@{"))
    throw new UsageError(`${JSON.stringify(sanitizeLine(branch))} is not a valid name of a branch.`);
}

/** Switches to a branch at a commit. A branch that exists is only moved forward. Returns whether it is new. */
async function switchTo(git: LocalGit, { branch, commit }: CheckedOutBranch): Promise<boolean> {
  const current = await git.find(["rev-parse", "--quiet", "--verify", `refs/heads/${branch}^{commit}`]);
  if (current === undefined) {
    await git.text(["switch", "--quiet", "--no-track", "--create", branch, commit]);
    return true;
  }
  if (current === commit || (await isAncestor(git, commit, current))) {
    await git.text(["switch", "--quiet", branch]);
    return false;
  }
  if (!(await isAncestor(git, current, commit)))
    throw new UsageError(
      `Your branch ${sanitizeLine(branch)} has commits that the run does not have. Pass --branch with another name.`,
      { exit: exits.failed, code: "branch_diverged" },
    );
  await git.text(["switch", "--quiet", branch]);
  await git.text(["merge", "--quiet", "--ff-only", commit]);
  return false;
}

async function isAncestor(git: LocalGit, ancestor: string, commit: string): Promise<boolean> {
  return (await git.run(["merge-base", "--is-ancestor", ancestor, commit])).code === 0;
}
