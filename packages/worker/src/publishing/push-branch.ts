import { type GitResult, git } from "../repositories/git.ts";
import { explainGitError } from "../repositories/git-error.ts";
import type { Connection } from "../repositories/repository.ts";
import { isAncestor } from "./integrate-base.ts";
import { commitId, type Outbox } from "./outbox.ts";
import { PublishingError } from "./publishing-error.ts";

const LIST_MS = 60_000;
const PUSH_MS = 10 * 60_000;
const MAX_REASON_CHARACTERS = 2_000;

interface PushOptions {
  connection: Connection;
  commit: string;
  branch: string;
  /** The commit that Outrider pushed last. Without it, the branch must not exist. */
  expected?: string | undefined;
  /** The commit of the branch, from `readBranches`. */
  current: string | undefined;
}

/** Returns the commits of branches and of the default branch of the remote, and the name of the latter. */
export async function readBranches(
  { address, access }: Connection,
  branches: string[],
  signal: AbortSignal,
): Promise<{ commits: Map<string, string>; defaultBranch?: string }> {
  requireRemote(address);
  const refs = branches.map((branch) => `refs/heads/${branch}`);
  const args = ["ls-remote", "--symref", "--quiet", "--", address.url, "HEAD", ...refs];
  const result = await git({ args, access, signal, timeoutMs: LIST_MS });
  if (!result.ok) throw pushError(result, { address, branch: branches[0] ?? "" });
  const commits = new Map<string, string>();
  let defaultBranch: string | undefined;
  for (const line of result.stdout.split("\n")) {
    const [id = "", name = ""] = line.split("\t");
    // git matches the end of names, so other refs can be listed too.
    if (refs.includes(name) && commitId.test(id)) commits.set(name.slice("refs/heads/".length), id);
    if (name === "HEAD") defaultBranch ??= /^ref: refs\/heads\/(.+)$/.exec(id)?.[1];
    if (name === "HEAD" && defaultBranch && commitId.test(id)) commits.set(defaultBranch, id);
  }
  return { commits, ...(defaultBranch ? { defaultBranch } : {}) };
}

/**
 * Pushes a commit to a branch, and nothing else. Nothing happens if the branch already has this commit. Rejects with a
 * PublishingError if somebody else has changed the branch.
 */
export async function pushBranch(
  outbox: Outbox,
  { connection, commit, branch, expected, current }: PushOptions,
): Promise<{ isForced: boolean }> {
  const { address, access } = connection;
  requireRemote(address);
  if (current === commit) return { isForced: false };
  // A branch that was deleted, for example after a merge, is created again.
  if (current !== undefined && current !== expected) throw branchMoved(branch);
  const ref = `refs/heads/${branch}`;
  const result = await outbox.tryRun(
    [
      ...["-c", "pack.useSparse=false", "push"],
      // A partial repository lacks files on which differences could be based.
      ...(outbox.isPartial ? ["--no-thin"] : []),
      ...["--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no"],
      ...[`--force-with-lease=${ref}:${current ?? ""}`, "--", address.url, `${commit}:${ref}`],
    ],
    { access, timeoutMs: PUSH_MS },
  );
  if (!result.ok) throw pushError(result, { address, branch });
  const isForced = current !== undefined && !(await isAncestor(outbox, current, commit));
  return { isForced };
}

/** The folders that a worker may clone from are not meant to be written to. */
function requireRemote({ kind, url }: Connection["address"]): void {
  if (kind !== "file") return;
  throw new PublishingError(
    "permission_denied",
    `Changes cannot be pushed to ${url}, because it is a folder of the worker. Use the https or ssh URL of the repository in the environment.`,
  );
}

export function branchMoved(branch: string): PublishingError {
  return new PublishingError(
    "branch_moved",
    `The branch \`${branch}\` has commits that Outrider did not push. Merge or remove them, or publish to another branch.`,
  );
}

type Explain = (context: { branch: string; url: string; host: string; reason: string }) => PublishingError;

/** Maps what git prints about a rejected push to an error. The first matching pattern wins. */
const explanations: [RegExp, Explain][] = [
  [
    /\[rejected\].*\((?:stale info|fetch first|non-fast-forward|already exists)\)|cannot lock ref|reference already exists/i,
    ({ branch }) => branchMoved(branch),
  ],
  [
    /GH001|exceeds .*(?:file size|size) limit|larger than|pack exceeds|maximum (?:allowed )?(?:push |pack )?size|HTTP 413|returned error: 413/i,
    ({ reason }) =>
      new PublishingError(
        "too_large",
        `The remote repository rejected the push because it is too large${reason}. Remove large files from all new commits, not only from the last one.`,
      ),
  ],
  [
    /without `?workflows?`? (?:scope|permission)|refusing to allow .* (?:App|Token).*workflow/i,
    () =>
      new PublishingError(
        "permission_denied",
        "The credential must not change workflow files. Give it the permission to write workflows, or remove the changes to them.",
      ),
  ],
  [
    /protected branch|GH006|branch is protected|not allowed to (?:push|force push|create)|GH013|repository rule violations/i,
    ({ branch, reason }) =>
      new PublishingError(
        "protected_branch",
        `The remote repository does not allow pushes to the branch \`${branch}\`, because it is protected${reason}. Use another \`branch_prefix\`, or allow the credential to push there.`,
      ),
  ],
  [
    /secret scanning|GH009|push protection/i,
    ({ reason }) =>
      new PublishingError(
        "rejected",
        `The remote repository found a secret in the commits${reason}. Remove it from all new commits, not only from the last one.`,
      ),
  ],
  [
    /pre-receive hook declined|hook declined|\[remote rejected\]/i,
    ({ reason }) =>
      new PublishingError(
        "rejected",
        `The remote repository rejected the push${reason}. Change the commits accordingly and publish again.`,
      ),
  ],
  [
    /returned error: 403|Permission to .* denied|denied to|write access|not authorized to push|insufficient permission|You are not allowed to (?:push|upload)|deploy key .* read.only|key .*read.only|archived/i,
    ({ url, reason }) =>
      new PublishingError(
        "permission_denied",
        `The credential may not push to ${url}${reason}. Give it write access to the repository's contents.`,
      ),
  ],
];

function pushError(
  result: GitResult,
  { address, branch }: { address: Connection["address"]; branch: string },
): PublishingError {
  const { url, host } = address;
  if (result.endReason === "timeout") {
    return new PublishingError("unreachable", `Pushing to ${host} took too long. Outrider tries again.`, {
      isRetryable: true,
    });
  }
  // The URL can contain any of the phrases.
  const text = `${result.stdout}\n${result.stderr}`.replaceAll(url, "URL");
  const known = explanations.find(([pattern]) => pattern.test(text));
  if (known) return known[1]({ branch, url, host, reason: reasonOf(result.stderr) });
  const { code, message, remedy } = explainGitError(address, result);
  const explanation = `${message} ${remedy}`;
  if (code === "repository_unreachable")
    return new PublishingError("unreachable", explanation, { isRetryable: true });
  if (code === "external_authentication_required")
    return new PublishingError("authentication_required", explanation);
  return new PublishingError("rejected", explanation);
}

/** Returns what the remote says, for the end of a sentence. */
function reasonOf(stderr: string): string {
  const lines = stderr.split("\n").flatMap((line) => {
    // Gitea frames its message with empty errors.
    const text = /^remote:\s*(?:(?:error|fatal):\s*)*(.*)$/.exec(line)?.[1]?.trim();
    return text && !/^(?:Resolving|Counting|Compressing|Total|Processing)\b/.test(text) ? [text] : [];
  });
  const reason = lines
    .join(" ")
    .replace(/[\s.]+$/, "")
    .slice(0, MAX_REASON_CHARACTERS);
  return reason ? `: ${reason}` : "";
}
