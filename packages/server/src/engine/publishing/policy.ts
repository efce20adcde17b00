import { ciPaths, type ResolvedPublishPolicy } from "@outrider/contract/publish-policy";
import type { SecretFinding, StagedCommits } from "@outrider/contract/worker/publication";
import { couldContain, matchesGlob } from "./path-globs.ts";

/** Whether staged commits may be published, as far as their content decides. */
export type Verdict =
  | { type: "publish" }
  | { type: "approve"; reason: string }
  | { type: "refuse"; message: string };

type Content = Pick<
  StagedCommits,
  "files" | "has_more_files" | "diff_bytes" | "secrets" | "problems" | "bundle"
>;
type File = StagedCommits["files"][number];

/** How many paths, secrets or problems a message lists. */
const MAX_LISTED = 5;
const MEBIBYTE = 1024 * 1024;

/** Checks staged commits against the policy of their repository. The strictest result wins. */
export function checkPolicy(policy: ResolvedPublishPolicy, staged: Content): Verdict {
  const refusal = refusalOf(policy, staged);
  if (refusal) return { type: "refuse", message: refusal };
  const reason = approvalReason(policy, staged);
  return reason ? { type: "approve", reason } : { type: "publish" };
}

function refusalOf(policy: ResolvedPublishPolicy, staged: Content): string | undefined {
  const { protected_paths, max_diff_bytes } = policy;
  const { files, secrets, problems, diff_bytes, has_more_files, bundle } = staged;
  if (secrets.length > 0) {
    return `The commits contain secrets: ${list(secrets.map(describeSecret))}. Remove them from all commits, for example with \`git commit --amend\` or \`git rebase\`, and publish again. If a secret is valid, revoke it.`;
  }
  if (problems.length > 0) return `The commits cannot be published: ${list(problems, " ")}`;
  if (!bundle) return "The commits could not be stored. Publish them again.";
  const isProtected = filesMatching(files, protected_paths);
  if (isProtected.length > 0) {
    return `The environment's policy does not allow changes to ${list(isProtected)}. Undo the changes to these files and publish again, or ask a user to change \`protected_paths\` of the environment.`;
  }
  if (diff_bytes > max_diff_bytes) {
    return `The diff has ${formatBytes(diff_bytes)}, which is more than the ${formatBytes(max_diff_bytes)} that the environment's policy allows. Remove generated or large files from the commits and publish again, or ask a user to change \`max_diff_bytes\` of the environment.`;
  }
  if (has_more_files && protected_paths.length > 0) {
    return `More than ${files.length} files change, so that not all of them can be checked for protected paths. Publish smaller changes, or ask a user to remove \`protected_paths\` from the environment.`;
  }
  return undefined;
}

function approvalReason(policy: ResolvedPublishPolicy, staged: Content): string | undefined {
  const { approval, approval_paths } = policy;
  if (approval === "none") return undefined;
  if (approval === "required") return "The environment requires approval.";
  if (staged.has_more_files) {
    return `More than ${staged.files.length} files change, so that not all of them can be checked.`;
  }
  const executed = filesMatching(staged.files, ciPaths);
  if (executed.length > 0) return `CI executes changed files: ${list(executed)}.`;
  const listed = filesMatching(staged.files, approval_paths);
  return listed.length > 0 ? `Changes to ${list(listed)} need approval.` : undefined;
}

/**
 * Returns the paths that match one of the globs. A symbolic link or submodule also matches if it takes the place of a
 * folder with matching files.
 */
function filesMatching(files: File[], globs: string[]): string[] {
  const matches = ({ path, kind }: File) =>
    globs.some(
      (glob) =>
        matchesGlob(glob, path) ||
        (kind === "submodule" && couldContain(path, glob)) ||
        (kind === "symlink" && !glob.startsWith("**") && couldContain(path, glob)),
    );
  return files.filter(matches).map(({ path }) => `\`${path}\``);
}

function describeSecret({ rule, path, line, commit }: SecretFinding): string {
  const place = path === undefined ? "the message or author" : `\`${path}\`${line ? ` line ${line}` : ""}`;
  return `${rule} in ${place} of commit ${commit.slice(0, 12)}`;
}

function list(items: string[], separator = ", "): string {
  const shown = items.slice(0, MAX_LISTED).join(separator);
  return items.length > MAX_LISTED ? `${shown} and ${items.length - MAX_LISTED} more` : shown;
}

function formatBytes(bytes: number): string {
  return bytes >= MEBIBYTE ? `${(bytes / MEBIBYTE).toFixed(1)} MiB` : `${Math.ceil(bytes / 1024)} KiB`;
}
