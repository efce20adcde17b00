import type { RequestedPublication } from "@outrider/contract/worker/publication";

/** What became of a publication, for an agent or for the output of `git push`. */
export interface PublicationResult {
  /** One or two sentences that say what happened or what to do. */
  messages: string[];
  /** A few words on why nothing was pushed yet. Absent if the branch is pushed. */
  reason?: string;
}

type Described = Pick<RequestedPublication, "state" | "branch" | "kind" | "message" | "pull_request">;

export function describePublication(publication: Described): PublicationResult {
  const { state, branch, kind, pull_request, message } = publication;
  const note = message ? [message] : [];
  const pushed = `Pushed to ${branch}.`;
  switch (state) {
    case "DONE":
      return { messages: [pushed, ...(pull_request ? [describePullRequest(pull_request)] : []), ...note] };
    case "PUSHED":
      return {
        messages: [pushed, ...(kind === "branch" ? [] : ["The pull request follows by itself."]), ...note],
      };
    case "QUEUED":
    case "PUSHING":
      return {
        reason: "still queued",
        messages: [
          `The changes will be pushed to ${branch} by themselves. Do not publish them again.`,
          ...note,
        ],
      };
    case "AWAITING_APPROVAL":
      return {
        reason: "needs approval",
        messages: [
          ...note,
          `A user must approve the changes before they are pushed to ${branch}. Do not wait for it: finish your turn.`,
        ],
      };
    case "REJECTED":
      return { reason: "rejected by a user", messages: ["A user rejected the changes.", ...note] };
    case "SUPERSEDED":
      return {
        reason: "replaced by newer changes",
        messages: ["Newer changes are published instead.", ...note],
      };
    case "FAILED":
      return { reason: "not published", messages: [message ?? "The changes could not be published."] };
  }
}

function describePullRequest({ state, url }: NonNullable<Described["pull_request"]>): string {
  return `${state === "draft" ? "Draft pull request" : "Pull request"}: ${url}`;
}
