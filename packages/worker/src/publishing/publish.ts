/**
 * Pushes one publication:
 * 1. Read the run's branch and the base branch from the remote.
 * 2. Load the bundle into an outbox, where it is checked again. The mirror is updated first if it lacks a commit.
 * 3. Add trailers and signatures, and integrate the base branch if it has moved (policy).
 * 4. Push the result to the branch, if nobody else has changed it.
 *
 * Every step depends only on the publication and the remote, so it can be repeated at any time. If an earlier attempt has
 * pushed without reporting it, and the base branch has moved since then, the branch has the result of that attempt. It is
 * recognized by creating it again.
 */
import type { AssignedPublication } from "@outrider/contract/worker/publication";
import type { Connection, Repositories, Repository } from "../repositories/repository.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { openBundle } from "./commit-bundle.ts";
import { integrateBase } from "./integrate-base.ts";
import type { Outbox } from "./outbox.ts";
import { PublishingError } from "./publishing-error.ts";
import { branchMoved, pushBranch, readBranches } from "./push-branch.ts";
import { rewriteCommits } from "./rewrite-commits.ts";

const MAX_BUNDLE_BYTES = 512 * 2 ** 20;

interface PublishOptions {
  repositories: Repositories;
  server: Pick<ServerClient, "getBlob">;
  source: Repository;
  publication: Pick<
    AssignedPublication,
    | "bundle"
    | "base_commit"
    | "tip"
    | "branch"
    | "base"
    | "expected"
    | "on_base_moved"
    | "co_author"
    | "sign_off"
    | "signing_key"
  >;
  signal: AbortSignal;
}

export interface PublishResult {
  /** What the branch points to now. */
  commit: string;
  default_branch?: string;
  is_forced: boolean;
}

/** Rejects with a PublishingError or a RepositoryError. */
export async function publish(options: PublishOptions): Promise<PublishResult> {
  const { repositories, source, publication, signal } = options;
  const { branch, tip, expected, on_base_moved } = publication;
  using connection = repositories.connect(source);
  const remote = await readBranches(
    connection,
    [branch, ...(publication.base ? [publication.base] : [])],
    signal,
  );
  const current = remote.commits.get(branch);
  const baseName = publication.base ?? remote.defaultBranch;
  const baseTip = baseName === undefined ? undefined : remote.commits.get(baseName);
  const integrates = on_base_moved !== "none" && baseName !== undefined && baseTip !== undefined;
  const isUnknown = current !== undefined && current !== expected;
  const needed = [...(integrates ? [baseTip] : []), ...(isUnknown ? [current] : [])];
  const { outbox, prerequisites } = await loadCommits(options, needed);
  try {
    const rewritten = await rewriteCommits(outbox, {
      ...{ tip, exclude: [...prerequisites, ...(await baseRef(outbox, baseName))] },
      ...{ coAuthor: publication.co_author, signOff: publication.sign_off },
      signingKey: publication.signing_key,
    });
    const integrate = (base: string) =>
      integrateBase(outbox, {
        tip: rewritten,
        base,
        baseName: baseName as string,
        how: on_base_moved as "merge",
      });
    const rest = remote.defaultBranch ? { default_branch: remote.defaultBranch } : {};
    if (isUnknown && current !== rewritten) {
      const isOurs =
        integrates && (await wasPushed(outbox, { current, baseTip, how: on_base_moved, integrate }));
      if (!isOurs) throw branchMoved(branch);
      return { commit: current, is_forced: false, ...rest };
    }
    const commit = integrates ? await integrate(baseTip) : rewritten;
    const { isForced } = await push(outbox, { connection, commit, branch, expected, current });
    return { commit, is_forced: isForced, ...rest };
  } finally {
    await outbox.remove();
  }
}

/** Loads the bundle into an outbox. The mirror is updated first if it lacks one of the commits that are needed. */
async function loadCommits(
  { repositories, server, source, publication, signal }: PublishOptions,
  needed: string[],
): Promise<{ outbox: Outbox; prerequisites: string[] }> {
  const { base_commit: commit, tip } = publication;
  for (let isUpdated = false; ; isUpdated = true) {
    const outbox = await repositories.openOutbox(source, { commit, signal });
    try {
      const blob = await server.getBlob(publication.bundle.sha256, signal);
      const { prerequisites, pack } = await openBundle(blob, tip);
      const [missing] = await findMissing(outbox, isUpdated ? prerequisites : [...prerequisites, ...needed]);
      if (missing === undefined) {
        await outbox.ingest(pack, { maxBytes: MAX_BUNDLE_BYTES });
        return { outbox, prerequisites };
      }
      pack.destroy();
      if (isUpdated) throw missingPrerequisite(missing);
    } catch (error) {
      await outbox.remove();
      throw error;
    }
    await outbox.remove();
    const { ref: _, ...allBranches } = source;
    await repositories.resolve(allBranches, { signal });
  }
}

function missingPrerequisite(commit: string): PublishingError {
  return new PublishingError(
    "invalid_commits",
    `The commits are based on ${commit}, which the remote repository no longer has. Base them on a commit of the base branch and publish again.`,
  );
}

async function findMissing(outbox: Outbox, commits: string[]): Promise<string[]> {
  const lines = await outbox.run(["cat-file", "--batch-check=%(objectname)"], {
    stdin: commits.map((commit) => `${commit}\n`).join(""),
  });
  return lines.split("\n").flatMap((line) => /^([0-9a-f]+) missing$/.exec(line)?.[1] ?? []);
}

async function baseRef(outbox: Outbox, baseName: string | undefined): Promise<string[]> {
  const ref = `refs/mirror/heads/${baseName}`;
  return baseName !== undefined && (await outbox.typeOf(ref)) === "commit" ? [ref] : [];
}

/** Returns whether an earlier attempt has pushed the commit, on an older commit of the base branch. */
async function wasPushed(
  outbox: Outbox,
  {
    current,
    baseTip,
    how,
    integrate,
  }: { current: string; baseTip: string; how: string; integrate(base: string): Promise<string> },
): Promise<boolean> {
  const args = how === "merge" ? ["rev-parse", "--verify", `${current}^2`] : ["merge-base", current, baseTip];
  const { ok, stdout } = await outbox.tryRun(args);
  if (!ok) return false;
  return (await integrate(stdout.trim()).catch(() => undefined)) === current;
}

/** If another worker pushes the same commit at the same time, one of them finds that the branch has moved. */
async function push(
  outbox: Outbox,
  options: {
    connection: Connection;
    commit: string;
    branch: string;
    expected: string | undefined;
    current: string | undefined;
  },
): Promise<{ isForced: boolean }> {
  try {
    return await pushBranch(outbox, options);
  } catch (error) {
    if (!(error instanceof PublishingError) || error.code !== "branch_moved") throw error;
    const { connection, branch, commit } = options;
    const { commits } = await readBranches(connection, [branch], outbox.signal);
    if (commits.get(branch) !== commit) throw error;
    return { isForced: false };
  }
}
