/**
 * Takes the commits of a run out of its sandbox, checks them on the host and stores them as a git bundle:
 * 1. A script in the sandbox prints the last commit and a pack (staging-script.ts).
 * 2. The pack is added to an outbox (outbox.ts), where every object is checked. Nothing that the script prints is trusted.
 * 3. The changes are listed (list-changes.ts) and searched for secrets (scan-commits.ts).
 * 4. The commits are uploaded (commit-bundle.ts), unless they contain a secret of the run or cannot be published.
 * The server decides what happens with them.
 */
import type { Readable } from "node:stream";
import type { GitAuthor } from "@outrider/contract/publish-policy";
import type { CheckedOutRepository } from "@outrider/contract/run";
import type { AssignedPublishing, StagedCommits } from "@outrider/contract/worker/publication";
import { createTextRedactor, type Redactor } from "../redaction/redact.ts";
import type { Repositories, Repository } from "../repositories/repository.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { readUntil, uploadBundle } from "./commit-bundle.ts";
import { type ChangeLimits, defaultChangeLimits, listChanges } from "./list-changes.ts";
import { commitId, type Outbox } from "./outbox.ts";
import { PublishingError } from "./publishing-error.ts";
import { type NamedSecret, scanCommits } from "./scan-commits.ts";
import { packMarker, stagingScript } from "./staging-script.ts";

/** Filters of the repository may block or take forever. */
const SCRIPT_MS = 5 * 60_000;
const MAX_HEADER_BYTES = 1_024;
const MAX_STDERR_CHARACTERS = 1_000;
/** The sandbox sends objects twice if it does not know that the remote has them, which is slow but harmless. */
const MAX_KNOWN_COMMITS = 5_000;
const DEFAULT_MESSAGE = "Changes of an Outrider run";

export interface StageLimits extends ChangeLimits {
  packBytes: number;
}

const defaultLimits: StageLimits = { ...defaultChangeLimits, packBytes: 256 * 2 ** 20 };

interface CheckOptions {
  /** Its commit is the one that the run started from. */
  repository: CheckedOutRepository;
  policy: AssignedPublishing["repositories"][number];
  redactor: Redactor;
  /** The run's secrets by name, which findings then contain. */
  secrets?: readonly NamedSecret[];
  server: Pick<ServerClient, "putBlob">;
  /** The folder for the temporary file of the upload. */
  folder: string;
  signal: AbortSignal;
  limits?: Partial<StageLimits>;
}

export interface StageOptions extends CheckOptions {
  sandbox: Sandbox;
  repositories: Repositories;
  /** How the worker fetches the repository. */
  source: Repository;
  /** The author of the commit of uncommitted changes, and its message. */
  author: GitAuthor;
  message?: string;
}

/**
 * Stages the commits of a run in one repository. Returns undefined if there is nothing new. Rejects with a PublishingError
 * if the commits cannot be taken out, and with a RepositoryError if the repository cannot be fetched.
 */
export async function stageCommits(options: StageOptions): Promise<StagedCommits | undefined> {
  const { repositories, repository, source, signal, limits } = options;
  await using outbox = await repositories.openOutbox(source, { commit: repository.commit, signal });
  const tip = await takeCommits(outbox, options, { ...defaultLimits, ...limits }.packBytes);
  return await stageFromOutbox(outbox, { ...options, tip });
}

/** Checks and stores commits that are already in an outbox. */
export async function stageFromOutbox(
  outbox: Outbox,
  { tip, ...options }: CheckOptions & { tip: string },
): Promise<StagedCommits | undefined> {
  const { repository, policy, redactor, secrets = [] } = options;
  const limits = { ...defaultLimits, ...options.limits };
  if (tip === policy.published?.tip) return undefined;
  if ((await outbox.typeOf(tip)) !== "commit") throw missingTip();
  const { path, commit: base } = repository;
  const { base: baseBranch, branch } = policy;
  const changes = await listChanges(outbox, { tip, base, baseBranch, branch, limits });
  if (!changes) return undefined;
  const { findings, hasKnownSecret } = await scanCommits(outbox, changes, { redactor, secrets, limits });
  const isStored = !hasKnownSecret && changes.problems.length === 0;
  return {
    path,
    base_commit: base,
    tip,
    ...(isStored ? { bundle: await uploadBundle(outbox, { tip, changes }, options) } : {}),
    commits: changes.commits.length,
    files: changes.files.map((file) => ({ ...file, path: redactor.redact(file.path) })),
    has_more_files: changes.hasMoreFiles,
    diff_bytes: changes.diffBytes,
    secrets: findings,
    problems: changes.problems.map((problem) => redactor.redact(problem).slice(0, 1_000)),
  };
}

/** Runs the script in the sandbox and adds its pack to the outbox. Returns the tip, which may be any commit id. */
async function takeCommits(outbox: Outbox, options: StageOptions, maxBytes: number): Promise<string> {
  const { sandbox, repository, policy, author, message = DEFAULT_MESSAGE, redactor, signal } = options;
  const script = stagingScript({
    path: repository.path,
    commitsChanges: policy.commit_uncommitted,
    published: policy.published?.tip,
    author,
    message,
  });
  const timeout = AbortSignal.timeout(SCRIPT_MS);
  // As root of an image, git would leave files in the repository that the agent cannot change.
  const process = await sandbox.spawn(script, {
    signal: AbortSignal.any([signal, timeout]),
    withWorkerPrograms: true,
  });
  process.stdin.on("error", () => {});
  process.stdin.end((await listKnownCommits(outbox, repository.commit)).map((id) => `${id}\n`).join(""));
  const stderr = readEnd(process.stderr, redactor);
  try {
    const header = await readUntil(process.stdout, packMarker, MAX_HEADER_BYTES);
    const [, tip] = /^tip ([0-9a-f]+)\npack\n$/.exec(header) ?? [];
    if (!tip || !commitId.test(tip)) {
      process.stdout.resume();
      await process.ended;
      throw scriptError(header, timeout.aborted ? "it took too long" : await stderr, repository.path);
    }
    await outbox.ingest(process.stdout, { maxBytes });
    const { exitCode } = await process.ended;
    if (exitCode !== 0) throw scriptError("", await stderr, repository.path);
    return tip;
  } finally {
    process.stdout.destroy();
    process.stderr.destroy();
    await process.kill();
  }
}

/** Lists commits that the remote has, those of branches first. */
async function listKnownCommits(outbox: Outbox, base: string): Promise<string[]> {
  const args = ["for-each-ref", "--format=%(objectname)", `--count=${MAX_KNOWN_COMMITS}`];
  const refs = await outbox.run([...args, "refs/mirror/heads", "refs/mirror/tags"]);
  return [...new Set([base, ...refs.split("\n").filter(Boolean)])];
}

function scriptError(header: string, stderr: string, path: string): PublishingError {
  const where = `/workspace/${path}`;
  if (header.startsWith("problem no-repository")) {
    return new PublishingError(
      "no_repository",
      `${where} is no longer a git repository, so its changes cannot be published. Restore its .git folder.`,
    );
  }
  if (header.startsWith("problem no-commit")) {
    return new PublishingError(
      "no_repository",
      `The repository ${where} has no commit at HEAD. Check out a branch that is based on the remote repository.`,
    );
  }
  if (header.startsWith("problem unmerged")) {
    return new PublishingError(
      "unfinished_merge",
      `The repository ${where} has unresolved merge conflicts. Resolve them and commit, or abort the merge.`,
    );
  }
  const reason = stderr.trim() || "git gave no reason";
  return new PublishingError(
    "staging_failed",
    `The changes of ${where} could not be read: ${reason}. Check the repository with \`git status\` and \`git fsck\`.`,
  );
}

function missingTip(): PublishingError {
  return new PublishingError(
    "invalid_commits",
    "The last commit is missing in what the sandbox sent. Run `git fsck` in the repository, and create the commits again.",
  );
}

/** Reads a stream to its end and returns its last characters, without secrets. */
async function readEnd(stream: Readable, redactor: Redactor): Promise<string> {
  const redacted = createTextRedactor(redactor);
  let text = "";
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      text = (text + redacted.push(chunk)).slice(-MAX_STDERR_CHARACTERS);
    }
  } catch {
    // The script was killed.
  }
  return (text + redacted.end()).slice(-MAX_STDERR_CHARACTERS);
}
