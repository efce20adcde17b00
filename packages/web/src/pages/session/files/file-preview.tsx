import type { RunFileEntry } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { ArrowLeft, Download, FileQuestion } from "lucide-react";
import { type ReactNode, useEffect, useMemo } from "react";
import { Button, IconButton } from "../../../ui/button.tsx";
import { download } from "../../../ui/download.ts";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { formatBytes } from "../../../ui/format/numbers.ts";
import { CopyButton } from "../../../ui/text/copy.tsx";
import { sanitize } from "../../../ui/text/sanitize.ts";
import { contentQuery, readFile } from "./file-queries.ts";
import { TextLines } from "./text-lines.tsx";

const MIB = 1024 * 1024;
const MAX_TEXT_BYTES = 2 * MIB;
const MAX_IMAGE_BYTES = 10 * MIB;
/** The largest file that the server returns. */
const MAX_BYTES = 32 * MIB;

interface FilePreviewProps {
  runId: string;
  path: string;
  /** Absent if the folder that contains the file is no longer listed. */
  entry: RunFileEntry | undefined;
  /** Returns to the tree, on phones. */
  onClose: () => void;
}

export function FilePreview({ runId, path, entry, onClose }: FilePreviewProps) {
  const name = path.split("/").at(-1) ?? path;
  const size = entry?.size_bytes ?? 0;
  const isImage = /\.(png|jpe?g|gif|webp|avif|ico)$/i.test(name);
  const isShown = size <= (isImage ? MAX_IMAGE_BYTES : MAX_TEXT_BYTES);
  const version = `${entry?.modified_at} ${size}`;
  const { data, error, refetch } = useQuery({ ...contentQuery(runId, path, version), enabled: isShown });
  const saving = useMutation({
    mutationFn: async () => download(new Blob([data ?? (await readFile(runId, path))]), name),
  });
  const isTooLarge = size > MAX_BYTES;
  return (
    <section aria-label={`File ${sanitize(name)}`} className="flex min-h-0 min-w-0 flex-1 flex-col">
      <header className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-1.5">
        <IconButton
          label="Back to the files"
          className="md:hidden"
          icon={<ArrowLeft className="size-4" aria-hidden />}
          onClick={onClose}
        />
        <h2 className="min-w-0 flex-1 truncate font-mono text-xs" title={sanitize(path)}>
          {sanitize(path)}
        </h2>
        {entry?.size_bytes !== undefined && (
          <span className="text-xs text-muted tabular-nums">{formatBytes(entry.size_bytes)}</span>
        )}
        <CopyButton text={path} what="path" />
        <Button
          small
          icon={<Download className="size-3.5" aria-hidden />}
          busy={saving.isPending}
          disabled={isTooLarge}
          onClick={() => saving.mutate()}
        >
          Download
        </Button>
      </header>
      {saving.error && (
        <div className="p-3">
          <ErrorAlert error={saving.error} />
        </div>
      )}
      {isTooLarge ? (
        <Message>The file is larger than {formatBytes(MAX_BYTES)}, which is the limit for downloads.</Message>
      ) : !isShown ? (
        <Message>The file is too large for a preview. Download it to see its content.</Message>
      ) : error ? (
        <div className="p-3">
          <ErrorAlert error={error} onRetry={() => void refetch()} />
        </div>
      ) : !data ? (
        <div className="px-3">
          <SkeletonRows rows={6} label="Loading file" />
        </div>
      ) : (
        <Content content={data} name={name} isImage={isImage} />
      )}
    </section>
  );
}

function Message({ children }: { children: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-3 px-4 py-16 text-center text-muted">
      <FileQuestion className="size-5" aria-hidden />
      <p>{children}</p>
    </div>
  );
}

interface ContentProps {
  content: Uint8Array<ArrayBuffer>;
  name: string;
  isImage: boolean;
}

function Content({ content, name, isImage }: ContentProps) {
  const text = useMemo(() => (isImage ? undefined : decode(content)), [content, isImage]);
  if (isImage) return <Image content={content} name={name} />;
  if (text === undefined)
    return <Message>This is a binary file. Download it to open it with another program.</Message>;
  if (text === "") return <Message>The file is empty.</Message>;
  return <TextLines text={text} name={name} />;
}

/** Returns undefined for a binary file. */
function decode(content: Uint8Array): string | undefined {
  return content.includes(0) ? undefined : new TextDecoder().decode(content);
}

function Image({ content, name }: { content: Uint8Array<ArrayBuffer>; name: string }) {
  const address = useMemo(() => URL.createObjectURL(new Blob([content])), [content]);
  useEffect(() => () => URL.revokeObjectURL(address), [address]);
  return (
    <div className="min-h-0 flex-1 overflow-auto bg-code p-3">
      <img src={address} alt={sanitize(name)} className="mx-auto max-w-full" />
    </div>
  );
}
