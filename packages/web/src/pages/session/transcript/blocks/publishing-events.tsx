import { GitBranch, GitPullRequest } from "lucide-react";
import { PullRequestBadge, pullRequestLabels } from "../../../../ui/pull-request-badge.tsx";
import { sanitizeLine } from "../../../../ui/text/sanitize.ts";
import type { EventOf } from "../transcript-context.ts";
import { Line } from "./line.tsx";

const icon = "size-4";

export function BranchPushed({ event }: { event: EventOf<"branch.pushed"> }) {
  const { branch, commit, is_forced } = event.data;
  return (
    <Line event={event} label="Branch pushed" icon={<GitBranch className={icon} aria-hidden />}>
      Pushed <code className="font-mono text-xs">{sanitizeLine(commit).slice(0, 10)}</code> to{" "}
      <bdi className="font-mono text-xs">{sanitizeLine(branch)}</bdi>
      {is_forced && <span className="text-xs"> · replaced earlier commits</span>}
    </Line>
  );
}

type PullRequestEvent = EventOf<"pull_request.opened"> | EventOf<"pull_request.updated">;

export function PullRequestChanged({ event }: { event: PullRequestEvent }) {
  const { data } = event;
  return (
    <Line event={event} label="Pull request" icon={<GitPullRequest className={icon} aria-hidden />}>
      {whatHappened(event)} <PullRequestBadge pullRequest={data} />
      {data.title && <bdi className="text-ink"> {sanitizeLine(data.title)}</bdi>}
    </Line>
  );
}

function whatHappened(event: PullRequestEvent): string {
  const { state } = event.data;
  if (event.type === "pull_request.opened")
    return state === "draft" ? "Draft pull request opened" : "Pull request opened";
  const { changes = [] } = event.data;
  if (changes.includes("state"))
    return state === "open"
      ? "Pull request ready for review"
      : `Pull request: ${pullRequestLabels[state].toLowerCase()}`;
  if (changes.includes("commits")) return "Pull request updated with new commits";
  return "Pull request updated";
}
