import type { RunItem } from "@outrider/sdk";
import { FileDiff } from "lucide-react";
import { useMemo } from "react";
import { readPatch } from "../../../ui/diff/patch.ts";
import { download } from "../../../ui/download.ts";
import { EmptyState } from "../../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { TranscriptLink } from "../transcript-link.tsx";
import { ChangedFiles } from "./changed-files.tsx";
import type { LineComments } from "./line-comments.ts";

interface ChangesProps {
  patch: string | undefined;
  error: unknown;
  onRetry: () => void;
  runId: string;
  state: RunItem["state"];
  /** The comments on lines. If absent, lines cannot be commented on. */
  comments?: LineComments;
}

export function Changes({ patch, error, onRetry, runId, state, comments }: ChangesProps) {
  const files = useMemo(() => (patch === undefined ? undefined : readPatch(patch)), [patch]);
  if (error && !files) return <ErrorAlert error={error} onRetry={onRetry} />;
  if (!files || patch === undefined) return <SkeletonRows label="Loading changes" />;
  if (files.length === 0) {
    const isAtWork = state === "INPROGRESS" || state === "QUEUED" || state === "BLOCKED";
    return (
      <EmptyState
        icon={<FileDiff className="size-5" aria-hidden />}
        title={isAtWork ? "No changes yet" : "No files changed"}
        action={<TranscriptLink />}
      >
        {isAtWork
          ? "Changes appear here as one patch, which is saved during a turn and when it ends. Until then, the transcript shows each change."
          : "The run did not change any files."}
      </EmptyState>
    );
  }
  const save = () => download(new Blob([patch], { type: "text/x-diff" }), `${runId}.patch`);
  return <ChangedFiles runId={runId} files={files} onDownload={save} comments={comments} />;
}
