import {
  allowsKind,
  type PublishKind,
  type ResolvedPublishPolicy,
  resolvePublishPolicy,
} from "@outrider/contract/publish-policy";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import type { AssignedPublishing } from "@outrider/contract/worker/publication";
import type { Sql } from "../../store/connection/db.ts";
import { findPublishingRun, listRunBranches, type PlannedOutcome } from "../../store/run-branches.ts";
import { resolveRepo } from "../builds/builds.ts";
import { branchName, repositoryKey, slugOf } from "./branch-name.ts";

/** A repository of a run's environment, with what the run may publish to it. */
export interface RunRepository {
  repo: AssignedEnvironment["repos"][number];
  /** Identifies the repository independently of how its URL is written. */
  key: string;
  policy: ResolvedPublishPolicy;
  branch: string;
  /** The branch that pull requests are merged into. Absent: the default branch. */
  base: string | undefined;
  /** What was pushed last. */
  published: { tip: string; commit: string } | undefined;
}

export interface PublishingRun {
  runId: string;
  title: string;
  configured: PublishKind | undefined;
  plannedOutcome: PlannedOutcome | undefined;
  repositories: RunRepository[];
}

/**
 * Returns what a run may publish. Policies are those of the environment now, so that a change of the environment applies
 * at once. The name of a branch is fixed as soon as the run asks for a publication.
 */
export async function loadPublishingRun(
  sql: Sql,
  { gitHost }: { gitHost: string },
  runId: string,
): Promise<PublishingRun | undefined> {
  const run = await findPublishingRun(sql, runId);
  if (!run) return undefined;
  const { title, configured, planned_outcome } = run;
  const branches = run.repos.length > 0 ? await listRunBranches(sql, runId) : [];
  const repos = run.repos.map(({ publish, ...repo }) => ({ publish, repo: resolveRepo(repo, gitHost) }));
  const keys = repos.map(({ repo }) => repositoryKey(repo.url));
  const repositories = repos.map(({ publish, repo }, index): RunRepository => {
    const policy = resolvePublishPolicy(publish);
    const key = keys[index] as string;
    const stored = branches.find(({ path }) => path === repo.path);
    // The same repository can be in an environment twice. Each checkout then has a branch of its own.
    const suffix = keys.indexOf(key) === index ? "" : `-${slugOf(repo.path) || index}`;
    const branch = stored?.branch ?? branchName(policy.branch_prefix, { runId, title }) + suffix;
    const { pushed_tip: tip, pushed_commit: commit } = stored ?? {};
    const published = tip && commit ? { tip, commit } : undefined;
    return { repo, key, policy, branch, base: policy.base ?? branchOf(repo.ref), published };
  });
  return {
    runId,
    title,
    configured: configured ?? undefined,
    plannedOutcome: planned_outcome ?? undefined,
    repositories,
  };
}

/** Returns a ref as the name of a branch. Commits and explicit tags are not branches. */
function branchOf(ref: string | undefined): string | undefined {
  if (ref === undefined || ref === "HEAD" || /^[0-9a-f]{7,64}$/.test(ref)) return undefined;
  if (ref.startsWith("refs/heads/")) return ref.slice("refs/heads/".length);
  return ref.startsWith("refs/") ? undefined : ref;
}

/** Returns when the server publishes without being asked. */
function whenPublished(policy: ResolvedPublishPolicy, configured: PublishKind | undefined) {
  if (configured === undefined) return policy.when;
  const isWanted = configured !== "none" && allowsKind(policy.publish, configured);
  return isWanted ? "on_success" : "on_request";
}

/** Returns what a worker must know to stage the commits of a run. */
export async function assignPublishing(
  sql: Sql,
  services: { gitHost: string },
  runId: string,
): Promise<{ publishing?: AssignedPublishing }> {
  const run = await loadPublishingRun(sql, services, runId);
  const repositories = (run?.repositories ?? []).filter(({ policy }) => policy.publish !== "none");
  if (repositories.length === 0) return {};
  return {
    publishing: {
      repositories: repositories.map(({ repo, policy, branch, base, published }) => ({
        path: repo.path,
        kind: policy.publish,
        when: whenPublished(policy, run?.configured),
        branch,
        ...(base ? { base } : {}),
        commit_uncommitted: policy.commit_uncommitted,
        on_base_moved: policy.on_base_moved,
        max_diff_bytes: policy.max_diff_bytes,
        ...(published ? { published } : {}),
      })),
    },
  };
}
