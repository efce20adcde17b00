import type { CloudEnvironmentRequest } from "@outrider/sdk";
import type { EvalTask, HiddenFile } from "../task.ts";
import type { Candidate } from "./candidates.ts";
import type { GitHistory } from "./git.ts";
import { fillTestCommand } from "./test-command.ts";

export interface HistoryEnvironment {
  /** The URL that workers fetch the repository from. */
  url: string;
  folder: string;
  secret?: string;
  setupCommands: string[];
  allowedDomains: string[];
}

/**
 * Removes everything after the task's starting point from the clone. Otherwise the agent would find the commit that it
 * has to write in the history.
 */
const removeLaterHistory = [
  "git checkout -q --detach",
  "git for-each-ref --format='delete %(refname)' | git update-ref --stdin",
  "git remote remove origin 2>/dev/null || true",
  "rm -rf .git/logs .git/FETCH_HEAD .git/ORIG_HEAD .git/packed-refs",
  "git -c gc.reflogExpire=now gc --quiet --prune=now",
].join("\n");

/** Turns a commit into a task: its parent is the start, its message the prompt, and its tests are the hidden judge. */
export async function toTask(
  history: GitHistory,
  candidate: Candidate,
  { testCommand, environment }: { testCommand: string; environment: HistoryEnvironment },
): Promise<EvalTask> {
  const { commit, parent, subject, message, testPaths, removedTestPaths, otherPaths } = candidate;
  const patch = await history.read(
    ...["diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", parent, commit, "--"],
    ...otherPaths.map((path) => `:(literal)${path}`),
  );
  const attachment = "~/attachments/change.patch";
  return {
    name: `${commit.slice(0, 10)} ${subject}`.slice(0, 60).trimEnd(),
    kind: "history",
    prompt: message,
    programs: ["git"],
    environment: toEnvironment(environment, parent),
    judge: {
      ...{ folder: `/workspace/${environment.folder}`, patchContains: "changes" },
      hiddenFiles: await readHiddenFiles(history, commit, testPaths),
      removedPaths: removedTestPaths,
      command: fillTestCommand(testCommand, testPaths),
    },
    scripted: {
      solution: {
        script: `RUN: cd /workspace/${environment.folder} && git apply --whitespace=nowarn ${attachment}\nSAY: Applied the original change.`,
        patch,
      },
      wrong: { script: "SAY: Done." },
    },
  };
}

function toEnvironment(environment: HistoryEnvironment, ref: string): CloudEnvironmentRequest {
  const { url, folder, secret, setupCommands, allowedDomains } = environment;
  return {
    name: "eval",
    repos: [{ url, ref, path: folder, ...(secret ? { secret } : {}) }],
    setup_commands: [removeLaterHistory, ...setupCommands],
    ...(allowedDomains.length > 0 ? { network: { mode: "allowlist", allow: allowedDomains } } : {}),
  };
}

async function readHiddenFiles(history: GitHistory, commit: string, paths: string[]): Promise<HiddenFile[]> {
  const files: HiddenFile[] = [];
  for (const path of paths) {
    const entry = await history.text("ls-tree", "-z", commit, "--", `:(literal)${path}`);
    const [mode, type] = entry.split(" ");
    // Symbolic links and submodules cannot be judges.
    if (type !== "blob" || mode === "120000") continue;
    const content = await history.read("cat-file", "blob", `${commit}:${path}`);
    files.push({ path, content, isExecutable: mode === "100755" });
  }
  return files;
}
