import type { RunItem } from "@outrider/sdk";
import { Download, FileDiff } from "lucide-react";
import { useId, useMemo, useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { Counts } from "../../../ui/diff/counts.tsx";
import { linesOf, type PatchFile, readPatch } from "../../../ui/diff/patch.ts";
import { download } from "../../../ui/download.ts";
import { EmptyState } from "../../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { FileCard } from "./file-card.tsx";
import { FileTree } from "./file-tree.tsx";
import type { LineComments } from "./line-comments.ts";
import { filesIn, treeOf } from "./tree.ts";

interface ChangesProps {
  patch: string | undefined;
  error: unknown;
  onRetry: () => void;
  /** The downloaded file's name, without its extension. */
  name: string;
  state: RunItem["state"];
  /** The comments on lines. If absent, lines cannot be commented on. */
  comments?: LineComments;
}

export function Changes({ patch, error, onRetry, name, state, comments }: ChangesProps) {
  const files = useMemo(() => (patch === undefined ? undefined : readPatch(patch)), [patch]);
  if (error && !files) return <ErrorAlert error={error} onRetry={onRetry} />;
  if (!files || patch === undefined) return <SkeletonRows label="Loading changes" />;
  if (files.length === 0) {
    const isAtWork = state === "INPROGRESS" || state === "QUEUED" || state === "BLOCKED";
    return (
      <EmptyState
        icon={<FileDiff className="size-5" aria-hidden />}
        title={isAtWork ? "No changes saved yet" : "No files changed"}
      >
        {isAtWork
          ? "All changes appear here as one patch. It is saved from time to time and when a turn ends. Until then, the transcript shows each change."
          : "The run did not change any files."}
      </EmptyState>
    );
  }
  const save = () => download(new Blob([patch], { type: "text/x-diff" }), `${name}.patch`);
  return <Files files={files} onDownload={save} comments={comments} />;
}

/** Files are initially expanded up to this total number of lines. */
const OPEN_LINES = 1_500;

function openAtFirst(files: readonly PatchFile[]): Set<string> {
  const open = new Set<string>();
  let left = OPEN_LINES;
  for (const file of files) {
    left -= linesOf(file);
    if (left >= 0 || open.size === 0) open.add(file.path);
  }
  return open;
}

interface FilesProps {
  files: PatchFile[];
  onDownload: () => void;
  comments: LineComments | undefined;
}

function Files({ files: unordered, onDownload, comments }: FilesProps) {
  const id = useId();
  const tree = useMemo(() => treeOf(unordered), [unordered]);
  const files = useMemo(() => filesIn(tree), [tree]);
  const [open, setOpen] = useState(() => openAtFirst(files));
  const [isSingle, setIsSingle] = useState(false);
  const [chosen, setChosen] = useState(files[0]?.path);
  const selected = files.find(({ path }) => path === chosen) ?? files[0];
  const shown = isSingle && selected ? [selected] : files;
  const toggle = ({ path }: PatchFile) => {
    const next = new Set(open);
    if (!next.delete(path)) next.add(path);
    setOpen(next);
  };
  const select = (file: PatchFile) => {
    setChosen(file.path);
    setOpen(new Set(open).add(file.path));
    if (!isSingle) document.getElementById(`${id}${file.path}`)?.scrollIntoView({ block: "start" });
  };
  const sum = (member: "additions" | "deletions") => files.reduce((total, file) => total + file[member], 0);
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 pb-3">
        <h2 className="font-medium">
          {files.length} {files.length === 1 ? "file" : "files"} changed
        </h2>
        <Counts additions={sum("additions")} deletions={sum("deletions")} />
        <span className="flex-1" />
        <Button aria-pressed={isSingle} onClick={() => setIsSingle(!isSingle)}>
          {isSingle ? "Show all files" : "One file at a time"}
        </Button>
        <Button icon={<Download className="size-4" aria-hidden />} onClick={onDownload}>
          Download patch
        </Button>
      </div>
      <div className="gap-4 lg:grid lg:grid-cols-[17rem_minmax(0,1fr)]">
        <nav
          aria-label="Changed files"
          className="mb-4 max-h-48 self-start overflow-y-auto rounded-lg border border-line bg-surface p-1 lg:sticky lg:top-0 lg:max-h-[calc(100dvh-18rem)]"
        >
          <FileTree folder={tree} selected={isSingle ? selected : undefined} onSelect={select} />
        </nav>
        <div className="flex min-w-0 flex-col gap-3">
          {shown.map((file) => (
            <FileCard
              key={file.path}
              id={`${id}${file.path}`}
              file={file}
              comments={comments}
              isOpen={isSingle || open.has(file.path)}
              onToggle={() => toggle(file)}
            />
          ))}
        </div>
      </div>
    </>
  );
}
