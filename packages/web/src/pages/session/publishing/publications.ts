import type { ListPublicationsResponse, Publication } from "@outrider/sdk";

export type Publishable = ListPublicationsResponse["publishable"][number];
export type PublicationKind = Publication["kind"];

/** The kinds in the order in which they are offered. */
export const kinds = ["draft_pull_request", "pull_request", "branch"] satisfies PublicationKind[];

export const kindLabels: Record<PublicationKind, string> = {
  draft_pull_request: "Draft pull request",
  pull_request: "Pull request, ready for review",
  branch: "Branch only",
};

const activeStates: Publication["state"][] = ["QUEUED", "PUSHING", "PUSHED"];

/** Returns whether the publication is about to be pushed or opened. */
export function isActive({ state }: Pick<Publication, "state">): boolean {
  return activeStates.includes(state);
}

/** Returns the kinds that the policy allows. A draft is less than a pull request that is ready for review. */
export function allowedKinds({ kind: most }: Pick<Publishable, "kind">): PublicationKind[] {
  const order = ["none", "branch", "draft_pull_request", "pull_request"];
  return kinds.filter((kind) => order.indexOf(kind) <= order.indexOf(most));
}

/** Returns each repository's last publication. The list is sorted by time, newest first. */
export function latestByPath(publications: readonly Publication[]): Publication[] {
  const latest = new Map<string, Publication>();
  for (const one of publications) {
    if (one.state !== "SUPERSEDED" && !latest.has(one.path)) latest.set(one.path, one);
  }
  return [...latest.values()];
}

/** Returns the repositories whose changes can be published now. */
export function publishableNow({ publications, publishable }: ListPublicationsResponse): Publishable[] {
  const latest = latestByPath(publications);
  return publishable.filter(({ path, kind, problem, is_published }) => {
    const last = latest.find((one) => one.path === path);
    const isPending = last && (isActive(last) || last.state === "AWAITING_APPROVAL");
    return kind !== "none" && problem === undefined && !is_published && !isPending;
  });
}

/** Returns the host of a repository's URL, with its port if it has one. */
export function hostOf(url: string): string | undefined {
  return /^[a-z+]+:\/\/(?:[^/@]*@)?([^/]+)/i.exec(url)?.[1] ?? /^(?:[^@/]*@)?([^:/]+):(?!\/)/.exec(url)?.[1];
}

export function countFiles(count: number): string {
  return count === 1 ? "1 file" : `${count} files`;
}

/** Describes a publication's progress in one sentence. */
export function describeState(publication: Publication): string {
  const { state, branch, kind, decided_by } = publication;
  switch (state) {
    case "AWAITING_APPROVAL":
      return "Waiting for approval. Nothing has been pushed.";
    case "QUEUED":
      return `Waiting for a worker to push ${branch}…`;
    case "PUSHING":
      return `Pushing ${branch}…`;
    case "PUSHED":
      return `Pushed ${branch}. Opening the pull request…`;
    case "DONE":
      return kind === "branch" ? `Pushed to ${branch}.` : `Pushed to ${branch}, with a pull request.`;
    case "REJECTED":
      return `${decided_by?.display_name ?? "A user"} rejected these changes. Nothing was pushed.`;
    case "FAILED":
      return kind === "branch" ? "The branch was not pushed." : "The pull request was not opened.";
    default:
      return "Replaced by newer changes.";
  }
}
