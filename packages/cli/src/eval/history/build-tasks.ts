import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Outrider } from "@outrider/sdk";
import { UsageError } from "../../exit-codes.ts";
import { EvalEnvironments } from "../environments.ts";
import { forEachConcurrently } from "../pool.ts";
import type { EvalTask } from "../task.ts";
import { type Candidate, findCandidates, type Rejection } from "./candidates.ts";
import { GitHistory } from "./git.ts";
import { type HistoryEnvironment, toTask } from "./history-tasks.ts";
import { detectTestCommand } from "./test-command.ts";
import { findTaskProblem } from "./validate.ts";

export interface HistoryFlags {
  fromHistory?: string;
  commits?: number;
  ref?: string;
  testCommand?: string;
  setupCommand?: string[];
  allow?: string[];
  testPaths?: string[];
  codePaths?: string[];
  secret?: string;
  server?: string;
  concurrency: number;
}

interface BuildOptions {
  flags: HistoryFlags;
  client: Outrider;
  evalId: string;
  /** Where to clone the repository to. */
  folder: string;
  signal: AbortSignal;
  note(text: string): void;
}

/** Builds tasks from a repository's history, and keeps only those whose tests fail before the commit and pass after it. */
export async function buildHistoryTasks(
  options: BuildOptions,
): Promise<{ tasks: EvalTask[]; rejected: Rejection[] }> {
  const { flags, client, evalId, folder, signal, note } = options;
  const source = flags.fromHistory as string;
  const isLocal = existsSync(source);
  if (flags.server !== undefined && isLocal)
    throw new UsageError("With --server, --from-history needs a URL that the server's workers can fetch.");
  note(`Cloning ${source}`);
  const history = await GitHistory.clone(isLocal ? resolve(source) : source, folder, signal);
  const { candidates, rejected } = await findCandidates(history, {
    ...{ ref: flags.ref ?? "HEAD", count: flags.commits as number },
    patterns: {
      ...(flags.testPaths ? { tests: flags.testPaths } : {}),
      ...(flags.codePaths ? { code: flags.codePaths } : {}),
    },
  });
  if (candidates.length + rejected.length === 0)
    throw new UsageError(
      "No commit changes both code and tests. Pass the paths of tests and code with --test-paths and --code-paths.",
    );
  note(`Validating ${candidates.length} commits that change code and tests`);
  const environment: HistoryEnvironment = {
    // The server that was started for this evaluation fetches from the clone, so it needs no credentials.
    url: flags.server === undefined ? pathToFileURL(folder).href : source,
    folder: folderName(source),
    ...(flags.secret ? { secret: flags.secret } : {}),
    setupCommands: flags.setupCommand ?? [],
    allowedDomains: flags.allow ?? [],
  };
  const tasks: { candidate: Candidate; task: EvalTask }[] = [];
  await using environments = new EvalEnvironments(client, `${evalId} validation`);
  await forEachConcurrently(candidates, flags.concurrency, async (candidate) => {
    const { commit, parent, subject } = candidate;
    const testCommand = flags.testCommand ?? (await detectTestCommand(history, parent));
    if (testCommand === undefined)
      throw new UsageError("The test command of this repository is unknown. Pass it with --test-command.");
    const task = await toTask(history, candidate, { testCommand, environment });
    const metadata = { eval_id: evalId, eval_task: task.name };
    const environmentId = await environments.idFor(task);
    const reason = await findTaskProblem(task, { client, environmentId, metadata, signal });
    note(`${task.name}: ${reason === undefined ? "valid" : `rejected: ${reason}`}`);
    if (reason === undefined) tasks.push({ candidate, task });
    else rejected.push({ commit, subject, reason });
  });
  const order = new Map(candidates.map(({ commit }, index) => [commit, index]));
  const position = ({ commit }: Candidate) => order.get(commit) as number;
  const sorted = tasks.toSorted((a, b) => position(a.candidate) - position(b.candidate));
  return { tasks: sorted.map(({ task }) => task), rejected };
}

function folderName(source: string): string {
  const name = basename(source.replace(/[/\\]+$/, ""))
    .replace(/\.git$/, "")
    .replace(/[^A-Za-z0-9._-]/g, "-");
  return /^\.*$/.test(name) ? "repository" : name;
}
