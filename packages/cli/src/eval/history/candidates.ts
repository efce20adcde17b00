import type { GitHistory } from "./git.ts";
import { isCode, isTest, type PathPatterns } from "./paths.ts";

/** A commit that could become a task. */
export interface Candidate {
  commit: string;
  parent: string;
  subject: string;
  message: string;
  /** The tests that the commit added or changed. */
  testPaths: string[];
  removedTestPaths: string[];
  /** All other files of the commit. */
  otherPaths: string[];
}

export interface Rejection {
  commit: string;
  subject: string;
  reason: string;
}

/** How far back to look. Histories can have hundreds of thousands of commits. */
const MAX_COMMITS_READ = 5_000;
const MAX_FILES = 50;
const MIN_WORDS = 3;

/** Lines that say who was involved, not what to do. */
const trailer =
  /^(signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|change-id|cc|\(cherry picked)\b/i;

/** Finds the newest commits that change code and tests. Rejects those that cannot be tasks. */
export async function findCandidates(
  history: GitHistory,
  { ref, count, patterns }: { ref: string; count: number; patterns: PathPatterns },
): Promise<{ candidates: Candidate[]; rejected: Rejection[] }> {
  const log = await history.text(
    ...["rev-list", "--no-merges", "--parents", `--max-count=${MAX_COMMITS_READ}`, ref, "--"],
  );
  const candidates: Candidate[] = [];
  const rejected: Rejection[] = [];
  for (const line of log.split("\n").filter(Boolean)) {
    if (candidates.length + rejected.length >= count) break;
    const [commit = "", parent] = line.split(" ");
    if (!parent) continue;
    const files = await readChanges(history, parent, commit);
    const tests = files.filter(({ path }) => isTest(path, patterns));
    const others = files.filter(({ path }) => !isTest(path, patterns));
    const addedTests = tests.filter(({ status }) => status !== "D");
    if (addedTests.length === 0 || !others.some(({ path }) => isCode(path, patterns))) continue;
    const message = await history.text("show", "-s", "--format=%B", commit, "--");
    const prompt = promptFrom(message);
    const subject = message.split("\n")[0] ?? "";
    const reason = findProblem(files.length, prompt);
    if (reason) rejected.push({ commit, subject, reason });
    else
      candidates.push({
        ...{ commit, parent, subject, message: prompt },
        testPaths: addedTests.map(({ path }) => path),
        removedTestPaths: tests.filter(({ status }) => status === "D").map(({ path }) => path),
        otherPaths: others.map(({ path }) => path),
      });
  }
  return { candidates, rejected };
}

function findProblem(files: number, prompt: string): string | undefined {
  if (files > MAX_FILES) return `It changes ${files} files, more than ${MAX_FILES}.`;
  if (prompt.split(/\s+/).length < MIN_WORDS)
    return `Its message has fewer than ${MIN_WORDS} words, so it does not say what to do.`;
  return undefined;
}

function promptFrom(message: string): string {
  return message
    .split("\n")
    .filter((line) => !trailer.test(line))
    .join("\n")
    .trim();
}

async function readChanges(
  history: GitHistory,
  parent: string,
  commit: string,
): Promise<{ status: string; path: string }[]> {
  const fields = (
    await history.text("diff-tree", "-r", "-z", "--no-renames", "--name-status", parent, commit, "--")
  ).split("\0");
  return Array.from({ length: Math.floor(fields.length / 2) }, (_, index) => ({
    status: fields[index * 2] as string,
    path: fields[index * 2 + 1] as string,
  }));
}
