import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Counts } from "../../../ui/diff/counts.tsx";
import { DiffLines } from "../../../ui/diff/diff-lines.tsx";
import type { DiffLine, PatchFile } from "../../../ui/diff/patch.ts";
import { CopyButton } from "../../../ui/text/copy.tsx";
import { sanitize } from "../../../ui/text/sanitize.ts";

import { CommentEditor, ShownComment } from "./comment-editor.tsx";
import { type LineComments, placeOf } from "./line-comments.ts";

const kindLabels = { created: "new", modified: undefined, deleted: "deleted", renamed: "renamed" };

interface FileCardProps {
  file: PatchFile;
  id: string;
  comments: LineComments | undefined;
  isOpen: boolean;
  onToggle: () => void;
}

export function FileCard({ file, id, comments, isOpen, onToggle }: FileCardProps) {
  const Icon = isOpen ? ChevronDown : ChevronRight;
  const label = kindLabels[file.kind];
  return (
    <article id={id} className="scroll-mt-2 overflow-hidden rounded-lg border border-line bg-surface">
      <header className="flex items-center gap-2 bg-raised pr-2">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={onToggle}
          className="flex min-h-10 min-w-0 flex-1 items-center gap-2 px-3 text-left -outline-offset-2"
        >
          <Icon className="size-4 shrink-0 text-muted" aria-hidden />
          <span className="min-w-0 break-all font-mono text-xs">
            {file.from && <span className="text-muted">{sanitize(file.from)} → </span>}
            {sanitize(file.path)}
          </span>
          {label && <span className="shrink-0 rounded bg-surface px-1.5 text-xs text-muted">{label}</span>}
        </button>
        <Counts {...file} />
        <CopyButton text={file.path} what={`path ${file.path}`} />
      </header>
      {isOpen && (comments ? <CommentedLines file={file} comments={comments} /> : <DiffLines file={file} />)}
    </article>
  );
}

/** Shows the file's lines with the user's comments, and a form at the line that is being commented on. */
function CommentedLines({ file, comments }: { file: PatchFile; comments: LineComments }) {
  const [edited, setEdited] = useState<string>();
  const below = (line: DiffLine): ReactNode => {
    const place = placeOf(file.path, line);
    const comment = comments.all.find((one) => one.place === place);
    if (place !== undefined && edited === place) {
      return (
        <CommentEditor
          initial={comment?.text ?? ""}
          onSave={(text) => {
            comments.save({ place, path: file.path, line, text });
            setEdited(undefined);
          }}
          onCancel={() => setEdited(undefined)}
        />
      );
    }
    return (
      comment && (
        <ShownComment
          text={comment.text}
          onEdit={() => setEdited(place)}
          onDelete={() => comments.remove(comment.place)}
        />
      )
    );
  };
  return (
    <DiffLines file={file} commenting={{ below, onComment: (line) => setEdited(placeOf(file.path, line)) }} />
  );
}
