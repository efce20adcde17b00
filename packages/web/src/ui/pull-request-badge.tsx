import type { PullRequest } from "@outrider/sdk";
import clsx from "clsx";
import { GitMerge, GitPullRequest, GitPullRequestClosed, GitPullRequestDraft } from "lucide-react";

type State = PullRequest["state"];

export const pullRequestLabels: Record<State, string> = {
  draft: "Draft",
  open: "Open",
  merged: "Merged",
  closed: "Closed",
};

const styles: Record<State, { Icon: typeof GitMerge; tone: string }> = {
  draft: { Icon: GitPullRequestDraft, tone: "bg-raised text-muted" },
  open: { Icon: GitPullRequest, tone: "bg-good-soft text-good" },
  merged: { Icon: GitMerge, tone: "bg-accent-soft text-accent-ink" },
  closed: { Icon: GitPullRequestClosed, tone: "bg-bad-soft text-bad" },
};

interface PullRequestBadgeProps {
  /** Share links omit the repository and the URL. */
  pullRequest: Pick<PullRequest, "number" | "state"> & Partial<Pick<PullRequest, "url" | "repository">>;
  /** Shows the state's name next to the number. Otherwise, only the icon and the tooltip show it. */
  labelled?: boolean;
}

/** Shows a pull request's number and state, and links to it. */
export function PullRequestBadge({ pullRequest, labelled = false }: PullRequestBadgeProps) {
  const { number, state, url, repository } = pullRequest;
  const { Icon, tone } = styles[state];
  const label = pullRequestLabels[state];
  const className = clsx(
    "inline-flex h-5 shrink-0 align-middle items-center gap-1 rounded-full px-2 text-xs font-medium whitespace-nowrap tabular-nums",
    tone,
  );
  const content = (
    <>
      <Icon className="size-3.5" aria-hidden />
      <span className="sr-only">Pull request </span>#{number}
      <span className={labelled ? "" : "sr-only"}> {label}</span>
    </>
  );
  if (!url || !/^https?:\/\//i.test(url)) return <span className={className}>{content}</span>;
  return (
    <a
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      title={`${repository ? `${repository} ` : ""}#${number}: ${label}`}
      // In lists, a link to the run covers the whole row.
      className={clsx(className, "relative z-10 hover:underline")}
    >
      {content}
    </a>
  );
}

/** Shows the badges of a run's pull requests. */
export function PullRequestBadges({
  of: all = [],
  labelled = false,
}: {
  of: readonly PullRequest[] | undefined;
  labelled?: boolean;
}) {
  return all.map((one) => <PullRequestBadge key={one.url} pullRequest={one} labelled={labelled} />);
}
