import { allowsKind, type PublishKind, type ResolvedPublishPolicy } from "@outrider/contract/publish-policy";
import type { PublishRequest } from "@outrider/contract/worker/publication";

export type PublishedKind = Exclude<PublishKind, "none">;

interface Situation {
  policy: ResolvedPublishPolicy;
  /** The run's `config.publish`. */
  configured: PublishKind | undefined;
  /** What was published last from this repository, if anything. */
  lastKind?: PublishedKind | undefined;
}

/**
 * Returns what a request publishes, or undefined if the commits are only staged. Once a run has published, each turn
 * that succeeds updates what it published.
 */
export function kindToPublish(
  { policy, configured, lastKind }: Situation,
  { trigger, outcome }: Pick<PublishRequest, "trigger" | "outcome">,
): PublishedKind | undefined {
  if (policy.publish === "none") return undefined;
  const ifAllowed = (kind: PublishKind | undefined) =>
    kind === undefined || kind === "none" || !allowsKind(policy.publish, kind) ? undefined : kind;
  const wanted = ifAllowed(configured);
  const last = lastKind && (ifAllowed(lastKind) ?? policy.publish);
  // `git push` pushes a branch, and updates a pull request that exists.
  if (trigger === "push") return last ?? "branch";
  if (trigger === "agent") return wanted ?? last ?? policy.publish;
  const isSuccess = outcome === "succeeded";
  if (isSuccess && (wanted || last)) return wanted ?? last;
  if (configured !== undefined) return undefined;
  if (policy.when === "always" || (policy.when === "on_success" && isSuccess)) return policy.publish;
  return undefined;
}

/** Returns whether what was published of the same commits includes what is wanted now. */
export function includesKind(published: PublishedKind, wanted: PublishedKind): boolean {
  return wanted === "branch" || published !== "branch";
}
