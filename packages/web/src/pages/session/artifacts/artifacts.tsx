import { Download, ExternalLink, FileBox, FileDiff, File as FileIcon, GitPullRequest } from "lucide-react";
import { useState } from "react";
import { Button, buttonClass } from "../../../ui/button.tsx";
import { EmptyState } from "../../../ui/feedback/empty-state.tsx";
import { formatBytes } from "../../../ui/format/numbers.ts";
import { PullRequestBadge } from "../../../ui/pull-request-badge.tsx";
import { sanitize } from "../../../ui/text/sanitize.ts";
import type { LogSource } from "../log/log-source.ts";
import { TranscriptLink } from "../transcript-link.tsx";
import type { ArtifactItem } from "./artifact.ts";
import { Preview, previewKindOf } from "./preview.tsx";

interface ArtifactsProps {
  artifacts: readonly ArtifactItem[] | undefined;
  source: LogSource;
}

export function Artifacts({ artifacts = [], source }: ArtifactsProps) {
  if (artifacts.length === 0) {
    return (
      <EmptyState
        icon={<FileBox className="size-5" aria-hidden />}
        title="No artifacts"
        action={<TranscriptLink />}
      >
        Files that the agent saves, long command output, the patch of all changes and pull requests appear
        here.
      </EmptyState>
    );
  }
  return (
    <ul className="flex flex-col gap-2">
      {artifacts.map((artifact) =>
        artifact.pull_request ? (
          <PullRequestRow key={artifact.artifact_id} pullRequest={artifact.pull_request} />
        ) : (
          <Row key={artifact.artifact_id} artifact={artifact} source={source} />
        ),
      )}
    </ul>
  );
}

function PullRequestRow({ pullRequest }: { pullRequest: NonNullable<ArtifactItem["pull_request"]> }) {
  const { title, repository, branch, base, number, url } = pullRequest;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border border-line bg-surface px-3 py-2">
      <GitPullRequest className="size-4 shrink-0 text-muted" aria-hidden />
      <div className="min-w-40 flex-1">
        <p className="flex items-center gap-2">
          <span className="truncate font-medium">{sanitize(title ?? `Pull request #${number}`)}</span>
          <PullRequestBadge pullRequest={pullRequest} labelled />
        </p>
        <p className="text-xs break-words text-muted">
          {sanitize(repository)} · {sanitize(branch)} into {sanitize(base)}
        </p>
      </div>
      {/^https?:\/\//i.test(url) && (
        <a href={url} target="_blank" rel="noopener noreferrer" className={buttonClass("plain")}>
          <ExternalLink className="size-4" aria-hidden />
          Open<span className="sr-only"> pull request #{number}</span>
        </a>
      )}
    </li>
  );
}

function Row({ artifact, source }: { artifact: ArtifactItem; source: LogSource }) {
  const [isShown, setIsShown] = useState(false);
  const { name, mime_type, size_bytes, artifact_type, artifact_id } = artifact;
  const address = source.artifactUrl?.(artifact_id);
  const kind = previewKindOf(artifact);
  const Icon = artifact_type === "PATCH" ? FileDiff : FileIcon;
  return (
    <li className="overflow-hidden rounded-lg border border-line bg-surface">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-3 py-2">
        <Icon className="size-4 shrink-0 text-muted" aria-hidden />
        <div className="min-w-40 flex-1">
          <p className="truncate font-medium" title={sanitize(name)}>
            {sanitize(name)}
          </p>
          <p className="text-xs text-muted">
            {formatBytes(size_bytes)} · {sanitize(mime_type)}
          </p>
        </div>
        {address && kind && (
          <Button aria-expanded={isShown} onClick={() => setIsShown(!isShown)}>
            {isShown ? "Hide" : "Preview"}
            <span className="sr-only"> of {sanitize(name)}</span>
          </Button>
        )}
        {address && (
          <a href={address} download={name} className={buttonClass("plain")}>
            <Download className="size-4" aria-hidden />
            Download<span className="sr-only"> {sanitize(name)}</span>
          </a>
        )}
      </div>
      {isShown && address && kind && <Preview kind={kind} name={name} address={address} />}
    </li>
  );
}
