import { copyFileSync, existsSync, lstatSync, mkdtempSync, rmSync, type Stats } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { exits, UsageError } from "../exit-codes.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { gitFailed, gitMessage, type LocalGit } from "./git.ts";

export interface ApplyOptions {
  git: LocalGit;
  patch: Uint8Array;
  /** How many leading folders to remove from the paths in the patch. */
  strip?: number;
  /** Whether to change nothing. */
  isCheck?: boolean;
}

export interface AppliedPatch {
  /** The files that differ from the last commit because of the patch. */
  files: string[];
  /** The files with conflict markers. */
  conflicts: string[];
}

/**
 * Applies a patch to the index and the files of a checkout, with a three-way merge where the files have changed since.
 *
 * The patch is first applied to an index of its own. That says which files it changes and which have conflicts, before anything
 * in the checkout is changed. git itself rejects paths outside of the checkout, in `.git`, and behind symbolic links.
 */
export async function applyPatch({
  git,
  patch,
  strip = 1,
  isCheck = false,
}: ApplyOptions): Promise<AppliedPatch> {
  const args = ["apply", `-p${strip}`, "--3way", "--whitespace=nowarn"];
  const planned = await planChanges(git, { args, patch });
  await rejectOverwriting(git, planned);
  const files = planned.changes.map(({ path }) => path);
  if (isCheck || files.length === 0) return { files, conflicts: planned.conflicts };
  const applied = await git.run([...args, "-"], { input: patch });
  const unmerged = await git.list(["diff", "--name-only", "--diff-filter=U", "-z"]);
  const conflicts = unmerged.filter((path) => files.includes(path));
  if (applied.code !== 0 && conflicts.length === 0) throw rejected(applied.stderr);
  return { files, conflicts };
}

interface PlannedChanges {
  changes: { path: string; isNew: boolean }[];
  conflicts: string[];
}

async function planChanges(
  git: LocalGit,
  { args, patch }: { args: string[]; patch: Uint8Array },
): Promise<PlannedChanges> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-apply-"));
  const environment = { GIT_INDEX_FILE: join(folder, "index") };
  try {
    const head = await git.find(["rev-parse", "--quiet", "--verify", "HEAD^{tree}"]);
    const tree = head ?? (await git.text(["hash-object", "-t", "tree", "--stdin"]));
    await copyIndex(git, environment.GIT_INDEX_FILE);
    await git.text(["read-tree", ...(head ? ["--reset", head] : ["--empty"])], { environment });
    const applied = await git.run([...args, "--cached", "-"], { input: patch, environment });
    const unmerged = await git.list(["diff", "--name-only", "--diff-filter=U", "-z"], { environment });
    const conflicts = [...new Set(unmerged)];
    if (applied.code !== 0 && conflicts.length === 0) {
      // git does not merge the same deletion twice.
      const reverse = [...args.filter((arg) => arg !== "--3way"), "--cached", "--check", "-R", "-"];
      const undone = await git.run(reverse, { input: patch, environment });
      if (undone.code === 0) return { changes: [], conflicts: [] };
      throw rejected(applied.stderr);
    }
    const compare = ["diff-index", "--cached", "--no-renames", "--name-status", "-z", tree];
    const fields = await git.list(compare, { environment });
    const changes = new Map<string, boolean>();
    for (let at = 0; at + 1 < fields.length; at += 2)
      changes.set(fields[at + 1] as string, fields[at] === "A");
    return { changes: [...changes].map(([path, isNew]) => ({ path, isNew })), conflicts };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies the index, because git only merges files whose times match the index. */
async function copyIndex(git: LocalGit, target: string): Promise<void> {
  await git.run(["update-index", "-q", "--refresh"]);
  const index = resolve(git.folder, await git.text(["rev-parse", "--git-path", "index"]));
  if (existsSync(index)) copyFileSync(index, target);
}

/** Rejects a patch to files with changes that are not committed, because a merge could destroy them. */
async function rejectOverwriting(git: LocalGit, { changes }: PlannedChanges): Promise<void> {
  const args = ["status", "--porcelain", "-z", "--untracked-files=no", "--no-renames"];
  const status = await git.list([...args, "--ignore-submodules=all"]);
  const dirty = new Set(status.map((line) => line.slice(3)));
  const linked = changes.find(({ path }) => isBehindLink(git, path));
  if (linked)
    throw new UsageError(
      `The run changes ${sanitizeLine(linked.path)}, which is behind a symbolic link here. Remove the link, and try again.`,
      { exit: exits.failed },
    );
  const inTheWay = changes.filter(({ path, isNew }) => dirty.has(path) || (isNew && find(git, path)));
  if (inTheWay.length > 0) throw uncommitted(inTheWay.map(({ path }) => sanitizeLine(path)));
}

function uncommitted(names: string[]): UsageError {
  const list = names.length > 5 ? [...names.slice(0, 5), `${names.length - 5} more`] : names;
  return new UsageError(
    `The run changes files that have uncommitted changes here: ${list.join(", ")}. Commit or stash them, and try again.`,
    { exit: exits.failed, code: "uncommitted_changes" },
  );
}

function find(git: LocalGit, path: string): Stats | undefined {
  try {
    return lstatSync(join(git.folder, path));
  } catch {
    return undefined;
  }
}

/** git only looks at links in the index, and would write through others. */
function isBehindLink(git: LocalGit, path: string): boolean {
  for (let parent = dirname(path); parent !== "."; parent = dirname(parent))
    if (find(git, parent)?.isSymbolicLink()) return true;
  return false;
}

function rejected(stderr: string): UsageError {
  const changed = [...stderr.matchAll(/^error: (.*): does not match index$/gm)].map(
    ([, path]) => path as string,
  );
  if (changed.length > 0) return uncommitted(changed.map(sanitizeLine));
  const message = gitMessage(stderr);
  if (/lacks the necessary blob|patch does not apply|does not exist in index/.test(stderr))
    return new UsageError(
      `The patch does not apply to this checkout: ${message} Run \`git fetch\`, switch to a branch that contains the commit from which the run started, and try again.`,
      { exit: exits.failed, code: "patch_does_not_apply" },
    );
  return gitFailed(["apply"], { stderr });
}
