import { quotePath } from "./list-changes.ts";
import { GitFailure, type Outbox } from "./outbox.ts";
import { PublishingError } from "./publishing-error.ts";
import { type Commit, formatCommit, parseCommit, readCommits, writeCommit } from "./rewrite-commits.ts";

const MERGE_MS = 2 * 60_000;
const MAX_NAMED_FILES = 20;
const identity = "Outrider <noreply@outrider.invalid>";

interface IntegrateOptions {
  tip: string;
  /** The current commit of the base branch. */
  base: string;
  baseName: string;
  how: "merge" | "rebase";
}

/**
 * Combines the commits of a run with newer commits of the base branch, and returns the new tip. It is the same for the
 * same commits. Rejects with a PublishingError that names the files if there are conflicts.
 */
export async function integrateBase(outbox: Outbox, options: IntegrateOptions): Promise<string> {
  const { tip, base, how } = options;
  if (await isAncestor(outbox, base, tip)) return tip;
  return how === "merge" ? await merge(outbox, options) : await rebase(outbox, options);
}

export async function isAncestor(outbox: Outbox, ancestor: string, commit: string): Promise<boolean> {
  const { ok } = await outbox.tryRun(["merge-base", "--is-ancestor", ancestor, commit], {
    timeoutMs: MERGE_MS,
  });
  return ok;
}

async function merge(outbox: Outbox, { tip, base, baseName }: IntegrateOptions): Promise<string> {
  const tree = await mergeTrees(outbox, tip, base, baseName);
  const time = Math.max(await timeOf(outbox, tip), await timeOf(outbox, base));
  const committer = `${identity} ${time} +0000`;
  return await writeCommit(
    outbox,
    formatCommit({
      ...{ tree, parents: [tip, base], author: committer, committer, otherHeaders: [] },
      message: `Merge branch '${Buffer.from(baseName).toString("latin1")}'\n`,
    }),
  );
}

async function rebase(outbox: Outbox, { tip, base, baseName }: IntegrateOptions): Promise<string> {
  const commits = await readCommits(outbox, { tip, exclude: [base] });
  let current = base;
  for (const [id, content] of commits) {
    const commit = parseCommit(content);
    const [parent] = commit.parents;
    if (commit.parents.length !== 1 || !parent) {
      throw new PublishingError(
        "base_conflict",
        `The branch contains merges, so it cannot be rebased on \`${baseName}\`. Rebase it in the repository, or set \`on_base_moved\` to \`merge\`.`,
      );
    }
    // git merges two commits by their last common one. For the changes of one commit, that must be its parent.
    const ours = await writeCommit(outbox, formatCommit(await onParent(outbox, { tree: current, parent })));
    const tree = await mergeTrees(outbox, ours, id, baseName);
    current = await writeCommit(outbox, formatCommit({ ...commit, tree, parents: [current] }));
  }
  return current;
}

async function onParent(outbox: Outbox, { tree, parent }: { tree: string; parent: string }): Promise<Commit> {
  const id = (await outbox.run(["rev-parse", "--verify", `${tree}^{tree}`])).trim();
  const committer = `${identity} 0 +0000`;
  return { tree: id, parents: [parent], author: committer, committer, otherHeaders: [], message: "" };
}

/** Merges two commits without a checkout and returns the resulting tree. */
async function mergeTrees(outbox: Outbox, ours: string, theirs: string, baseName: string): Promise<string> {
  const args = ["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", ours, theirs];
  const result = await outbox.tryRun(args, { timeoutMs: MERGE_MS });
  const [tree = "", ...names] = result.stdout.split("\0").filter(Boolean);
  if (result.ok && /^[0-9a-f]{40,64}$/.test(tree.trim())) return tree.trim();
  if (names.length === 0)
    throw new GitFailure(`git merge-tree failed: ${result.endReason ?? result.stderr}`, result);
  const files = [...new Set(names)];
  const named = files.slice(0, MAX_NAMED_FILES).map(quotePath).join(", ");
  const more = files.length > MAX_NAMED_FILES ? ` and ${files.length - MAX_NAMED_FILES} more` : "";
  throw new PublishingError(
    "base_conflict",
    `The base branch \`${baseName}\` has newer commits that conflict with the changes in ${named}${more}. Merge \`${baseName}\` in the repository, resolve the conflicts and publish again.`,
  );
}

async function timeOf(outbox: Outbox, commit: string): Promise<number> {
  return Number((await outbox.run(["show", "--no-patch", "--format=%ct", commit])).trim()) || 0;
}
